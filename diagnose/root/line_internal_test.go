package root

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestTrafficMeetsWhereLinksCarryMost: the switch of a line where traffic merges is found without known senders,
// whether these are on one side, on both, or round the edge of the torus.
func TestTrafficMeetsWhereLinksCarryMost(t *testing.T) {
	for _, senders := range []string{"4567", "034567", "0124567", "012"} {
		t.Run(senders, func(t *testing.T) {
			u := newTiedUp(t)
			var from []topology.DeviceID
			for _, line := range []string{"1,6,", "1,7,", "2,6,", "2,7,"} {
				for _, z := range senders {
					from = append(from, u.Device(t, line+string(z)))
				}
			}
			slices.Sort(from)
			end := u.Device(t, "2,7,3")
			links := u.Share(from, end, 10e9)
			slices.Sort(links)
			r := u.f.Region(u.p, links)
			right := r.meets(end).Agree
			if right < leastMeets {
				t.Errorf("at the end links agree by %.3f", right)
			}
			for z := range 8 {
				at := u.Device(t, fmt.Sprintf("2,7,%d", z))
				if v := r.meets(at).Agree; at != end && v >= right {
					t.Errorf("at %d links agree by %.3f, at the end by %.3f", z, v, right)
				}
			}
		})
	}
}

// TestTheSidesOfTheEnd: of two switches that look the same on a line, traffic ends at the one whose other links stall
// less, as they need not share the line's part; or, if links are idle part of the time, at the one whose links stall
// more, as stall falls upstream.
func TestTheSidesOfTheEnd(t *testing.T) {
	u := newTiedUp(t)
	set := func(name string, stall, use float32) schema.LinkID {
		l := roottest.Link(t, u.Graph, name)
		u.p.Stall.Values[l], u.p.Use.Values[l] = stall, use
		return l
	}
	ends := []topology.DeviceID{u.Device(t, "2,7,2"), u.Device(t, "2,7,3")}
	sides := []string{"2,7,2>3,7,2", "2,7,3>3,7,3"}
	for _, c := range []struct {
		name              string
		line, most, least float32
		end               int // 0: where the side stalls most, 1: least
	}{{"always waiting", 90, 99, 90, 1}, {"partly idle", 60, 55, 20, 0}} {
		for turn := range 2 {
			var links []schema.LinkID
			for name, use := range map[string]float32{"2,7,1>2,7,2": 10, "2,7,2>2,7,3": 20, "2,7,3>2,7,4": 10} { // 2,7,2 and 2,7,3 look the same
				links = append(links, set(name, c.line, use))
			}
			links = append(links, set(sides[turn], c.most, 5), set(sides[1-turn], c.least, 5))
			slices.Sort(links)
			u.f.region.readings.forget()
			r := u.f.Region(u.p, links)
			idle := r.idles()
			m := r.meetingOf(ends, idle)
			if want := ends[(turn+c.end)%2]; m.Device != want || !m.IsKnown() {
				t.Errorf("%s: meets at %s by %.2f, want %s", c.name, u.Graph.Device(m.Device).Name, m.Agree,
					u.Graph.Device(want).Name)
			}
		}
	}
}

// TestStallFallsOnTheWayUp: if links are idle part of the time, no link on the way to the end stalls more than the
// next, whatever else they carry.
func TestStallFallsOnTheWayUp(t *testing.T) {
	u := newTiedUp(t)
	var links []schema.LinkID
	for name, v := range map[string]struct{ stall, use float32 }{
		"2,7,1>2,7,2": {30, 4}, "2,7,2>2,7,3": {50, 10}, "2,7,3>2,7,4": {50, 12}, "2,7,4>2,7,5": {40, 6},
		"2,7,2>3,7,2": {30, 4}, "2,7,3>3,7,3": {50, 4}, "2,7,4>3,7,4": {30, 4},
	} {
		l := roottest.Link(t, u.Graph, name)
		u.p.Stall.Values[l], u.p.Use.Values[l] = v.stall, v.use
		links = append(links, l)
	}
	slices.Sort(links)
	r := u.f.Region(u.p, links)
	var ends []topology.DeviceID
	for z := range 8 {
		ends = append(ends, u.Device(t, fmt.Sprintf("2,7,%d", z)))
		if v := r.rises(ends[z]); (v < .001) != (z == 3) {
			t.Errorf("at %d stall rises on the way up by %.3f", z, v)
		}
	}
	if m := r.meetingOf(ends, true); m.Device != ends[3] {
		t.Errorf("meets at %s, want 2,7,3", u.Graph.Device(m.Device).Name)
	}
}

// TestRisesIsNaive: the cached sums of a line give for each of its switches the same as following the line from there.
func TestRisesIsNaive(t *testing.T) {
	u := newTiedUp(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for l := range u.p.Stall.Values {
		u.p.Stall.Values[l] = 100 * rng.Float32()
	}
	var links []schema.LinkID
	for l := range schema.LinkID(u.Graph.NumLinks()) {
		links = append(links, l)
	}
	r := u.f.Region(u.p, links)
	for end := range topology.DeviceID(u.Graph.NumDevices()) {
		line, sum := u.Grid.Line(end, r.last), 0.
		for _, step := range []int{1, -1} {
			came := 0.
			for n := line.Size / 2; n > 0; n-- {
				stall, sides := u.p.StallOf(line.Link(n-1, step)), 0.
				for _, side := range u.Graph.LinksAt(line.Device(step * n)) {
					if u.Grid.Dim(side) < r.last {
						sides += max(0, u.p.StallOf(side)-upstream*stall)
					}
				}
				if 2*n == line.Size {
					sides /= 2
				}
				sum += sides + max(0, came-upstream*stall)
				came = stall
			}
		}
		if got, want := r.rises(end), sum/r.most; math.Abs(got-want) > 1e-9 {
			t.Fatalf("%s: stall rises by %v, want %v", u.Graph.Device(end).Name, got, want)
		}
	}
}

// TestNoEndBehindFreeLinks: on a line with added load, a switch without stalled links of the line is less likely the
// end than one with them, even if much more arrives there over other links.
func TestNoEndBehindFreeLinks(t *testing.T) {
	u := newTiedUp(t)
	var links []schema.LinkID
	for name, v := range map[string]struct{ stall, use float32 }{
		"2,7,1>2,7,2": {90, 10}, "2,7,2>2,7,3": {90, 10}, "1,7,1>2,7,1": {90, 10}, "1,7,3>2,7,3": {90, 10},
		"2,7,6>3,7,6": {30, 45}, "1,7,6>2,7,6": {30, 45},
	} {
		l := roottest.Link(t, u.Graph, name)
		u.p.Stall.Values[l], u.p.Use.Values[l] = v.stall, v.use
		links = append(links, l)
	}
	slices.Sort(links)
	r := u.f.Region(u.p, links)
	ends := []topology.DeviceID{u.Device(t, "2,7,2"), u.Device(t, "2,7,6")}
	if r.meetingOf(ends, false); r.scores[1] >= r.scores[0] {
		t.Errorf("the end has a score of %.2f, a switch whose links of the line are free %.2f", r.scores[0],
			r.scores[1])
	}
}

// TestTheEndTakesWhatDoesNotGoOn: if senders are served alike, a link beside the end carries far more than the next
// one, and the end's other links little; but load added there does not go on.
func TestTheEndTakesWhatDoesNotGoOn(t *testing.T) {
	for _, senders := range []string{"56", "567", "0567"} {
		u := newTiedUp(t)
		grid := u.Grid
		end := u.Device(t, "2,7,4")
		var links []schema.LinkID
		for _, line := range []string{"1,6,", "1,7,", "2,6,", "3,7,", "2,7,"} {
			for _, z := range senders {
				grid.EachOnRoute(u.Device(t, line+string(z)), end, func(l schema.LinkID) {
					u.p.Use.Values[l] += float32(100 * 2e8 / u.Graph.Capacity(l))
					u.p.Stall.Values[l] = 90
					links = append(links, l)
				})
			}
		}
		slices.Sort(links)
		r := u.f.Region(u.p, slices.Compact(links))
		ends, _ := r.ends()
		idle := r.idles()
		if m := r.meetingOf(ends, idle); m.Device != end || !m.IsKnown() {
			t.Errorf("of senders at %s: meets at %s by %.2f", senders, u.Graph.Device(m.Device).Name, m.Agree)
		}
	}
}

// TestWhatWaitsAddsUpAtTheEnd: if stall measures how much waits, flow is conserved along the line at every switch but
// the end.
func TestWhatWaitsAddsUpAtTheEnd(t *testing.T) {
	u := newTiedUp(t)
	grid := u.Grid
	end := u.Device(t, "2,7,3")
	var links []schema.LinkID
	for _, from := range []string{"1,6,1", "1,7,2", "2,6,4", "3,7,5", "2,5,3", "0,7,3", "2,6,6"} {
		grid.EachOnRoute(u.Device(t, from), end, func(l schema.LinkID) {
			u.p.Use.Values[l] += float32(100 * 4e8 / u.Graph.Capacity(l))
			u.p.Stall.Values[l] = 40
			links = append(links, l)
		})
	}
	slices.Sort(links)
	r := u.f.Region(u.p, slices.Compact(links))
	for z := range 8 {
		at := u.Device(t, fmt.Sprintf("2,7,%d", z))
		if off := r.unbalanced(at); (off < .001) != (at == end) {
			t.Errorf("at %d %.3f does not add up", z, off)
		}
	}
}

// TestTrafficMeetsInAPlane: if no link of the last dimension stalls, traffic ends on a line of the dimension before, in
// the plane of its senders.
func TestTrafficMeetsInAPlane(t *testing.T) {
	u := newTiedUp(t)
	var from []topology.DeviceID
	for _, at := range []string{"0,4,5", "0,5,5", "1,4,5", "1,5,5", "0,6,5", "1,6,5"} {
		from = append(from, u.Device(t, at))
	}
	slices.Sort(from)
	end := u.Device(t, "2,7,5")
	links := u.Share(from, end, 3e9)
	slices.Sort(links)
	drain, _ := u.f.Region(u.p, links).Drain(nil)
	if !drain.Meeting.IsKnown() || drain.Meeting.Device != end {
		t.Errorf("traffic meets at %s by %.2f, want 2,7,5", u.Graph.Device(drain.Meeting.Device).Name,
			drain.Meeting.Agree)
	}
}

// TestAnUnknownMeetingDidNotGrow: where the added load of a line hardly agrees with traffic to any of its switches, it
// does not show that load was added there.
func TestAnUnknownMeetingDidNotGrow(t *testing.T) {
	u := newTiedUp(t)
	var links []schema.LinkID
	for name, use := range map[string]float32{"2,7,0>2,7,1": 10, "2,7,1>2,7,2": 10, "2,7,2>2,7,3": 10,
		"2,7,5>2,7,6": 20} {
		l := roottest.Link(t, u.Graph, name)
		u.Stall.Values[l], u.Use.Values[l] = 80, use
		links = append(links, l)
	}
	slices.Sort(links)
	r := u.f.Region(u.p, links)
	ends, _ := r.ends()
	if m := r.meetingOf(ends, false); m.Agree <= 0 || m.IsKnown() || m.Grew {
		t.Errorf("the meeting agrees by %.2f, known %v, grew %v", m.Agree, m.IsKnown(), m.Grew)
	}
}
