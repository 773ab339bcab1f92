package diagnose

import (
	"fmt"
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestTrafficMeetsWhereLinksCarryMost: who sends need not be known to see at which switch of a line traffic comes together,
// whether its senders are on one side, on both, or round the edge of the torus.
func TestTrafficMeetsWhereLinksCarryMost(t *testing.T) {
	for _, senders := range []string{"4567", "034567", "0124567", "012"} {
		t.Run(senders, func(t *testing.T) {
			u := newTiedUp(t)
			var from []topology.DeviceID
			for _, line := range []string{"1,6,", "1,7,", "2,6,", "2,7,"} {
				for _, z := range senders {
					from = append(from, u.device(t, line+string(z)))
				}
			}
			slices.Sort(from)
			end := u.device(t, "2,7,3")
			links := u.share(from, end, 10e9)
			slices.Sort(links)
			h := &u.stage.work.held
			h.take(links, u.p)
			right := h.meets(end, u.p).agree
			if right < leastMeets {
				t.Errorf("at the end links agree by %.3f", right)
			}
			for z := range 8 {
				at := u.device(t, fmt.Sprintf("2,7,%d", z))
				if v := h.meets(at, u.p).agree; at != end && v >= right {
					t.Errorf("at %d links agree by %.3f, at the end by %.3f", z, v, right)
				}
			}
		})
	}
}

// TestTheSidesOfTheEnd: of two switches between which a line shows the same, traffic ends at the one whose other links stall
// less, as they need not share what the line gets; where links are idle for a part of the time at the one whose links stall more,
// as stall falls on the way up.
func TestTheSidesOfTheEnd(t *testing.T) {
	u := newTiedUp(t)
	h := &u.stage.work.held
	set := func(name string, stall, use float32) schema.LinkID {
		l := linkBetween(t, u.stage.graph, name)
		u.p.stall.Values[l], u.p.use.Values[l] = stall, use
		return l
	}
	ends := []topology.DeviceID{u.device(t, "2,7,2"), u.device(t, "2,7,3")}
	sides := []string{"2,7,2>3,7,2", "2,7,3>3,7,3"}
	for _, c := range []struct {
		name              string
		line, most, least float32
		end               int // 0: where the side stalls most, 1: least
	}{{"always waiting", 90, 99, 90, 1}, {"partly idle", 60, 55, 20, 0}} {
		for turn := range 2 {
			var links []schema.LinkID
			for name, use := range map[string]float32{"2,7,1>2,7,2": 10, "2,7,2>2,7,3": 20, "2,7,3>2,7,4": 10} { // 2,7,2 and 2,7,3 alike
				links = append(links, set(name, c.line, use))
			}
			links = append(links, set(sides[turn], c.most, 5), set(sides[1-turn], c.least, 5))
			slices.Sort(links)
			h.looked++
			h.take(links, u.p)
			m := h.meetingOf(ends, h.idles(u.p), u.p)
			if want := ends[(turn+c.end)%2]; m.device != want || !m.known() {
				t.Errorf("%s: meets at %s by %.2f, want %s", c.name, u.stage.graph.Device(m.device).Name, m.agree, u.stage.graph.Device(want).Name)
			}
		}
	}
}

// TestJobsElsewhereDoNotMeetThere: where added traffic meets is a node of the job whose nodes exchange it, or beside one, as
// neighbours on a line are told apart by little.
func TestJobsElsewhereDoNotMeetThere(t *testing.T) {
	u := newTiedUp(t)
	rc := &regionCase{flooded: true, drain: drain{meeting: meeting{device: u.device(t, "2,7,3"), agree: 1}}}
	for at, elsewhere := range map[string]bool{"2,7,3": false, "2,7,4": false, "2,7,2": false, "2,7,5": true, "2,6,3": true, "1,7,3": true} {
		c := &suspect{job: &job{devices: []topology.DeviceID{u.device(t, at)}}}
		if got := u.stage.meetsElsewhere(rc, c); got != elsewhere {
			t.Errorf("of a job at %s: %v", at, got)
		}
		c.file = true
		if u.stage.meetsElsewhere(rc, c) {
			t.Errorf("a job at %s that writes to storage is cleared", at)
		}
	}
	rc.flooded = false
	if u.stage.meetsElsewhere(rc, &suspect{job: &job{devices: []topology.DeviceID{u.device(t, "0,0,0")}}}) {
		t.Error("a job is cleared where no load was added")
	}
}

// TestTheEndTakesWhatDoesNotGoOn: where senders are served alike, a link beside the end carries far more than the next, and
// the end's other links little; but what is added there goes no further.
func TestTheEndTakesWhatDoesNotGoOn(t *testing.T) {
	for _, senders := range []string{"56", "567", "0567"} {
		u := newTiedUp(t)
		h, grid := &u.stage.work.held, u.stage.router.Grid
		end := u.device(t, "2,7,4")
		var links []schema.LinkID
		for _, line := range []string{"1,6,", "1,7,", "2,6,", "3,7,", "2,7,"} {
			for _, z := range senders {
				grid.EachOnRoute(u.device(t, line+string(z)), end, func(l schema.LinkID) {
					u.p.use.Values[l] += float32(100 * 2e8 / u.stage.graph.Capacity(l))
					u.p.stall.Values[l] = 90
					links = append(links, l)
				})
			}
		}
		slices.Sort(links)
		h.take(slices.Compact(links), u.p)
		ends, _ := h.ends(u.p)
		if m := h.meetingOf(ends, h.idles(u.p), u.p); m.device != end || !m.known() {
			t.Errorf("of senders at %s: meets at %s by %.2f", senders, u.stage.graph.Device(m.device).Name, m.agree)
		}
	}
}
