package diagnose

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// share lets a switch take a rate, bytes/s, in equal parts from all that wants to go on there: the senders are not served
// alike, the nearest get most. senders always have more to send.
func (u *tiedUp) share(senders []topology.DeviceID, to topology.DeviceID, rate float64) (links []schema.LinkID) {
	grid := u.stage.router.Grid
	into := map[topology.DeviceID][]schema.LinkID{}
	for _, d := range senders {
		grid.EachOnRoute(d, to, func(l schema.LinkID) {
			if !slices.Contains(links, l) {
				_, end := grid.Leading(l, to)
				into[end], links = append(into[end], l), append(links, l)
			}
		})
	}
	var divide func(topology.DeviceID, float64)
	divide = func(d topology.DeviceID, rate float64) {
		inputs := len(into[d])
		if d != to && slices.Contains(senders, d) {
			inputs++
		}
		for _, l := range into[d] {
			part := rate / float64(inputs)
			u.p.use.Values[l] = float32(100 * part / u.stage.graph.Capacity(l))
			u.p.stall.Values[l] = 100 - u.p.use.Values[l]
			from, _ := grid.Leading(l, to)
			divide(from, part)
		}
	}
	divide(to, rate)
	return links
}

// TestTrafficEndsWhereMostArrives: where switches serve their inputs in turn, a tree to a neighbour of the true end has as
// well or better the routes that links show, but less arrives there.
func TestTrafficEndsWhereMostArrives(t *testing.T) {
	u := newTiedUp(t)
	var senders []topology.DeviceID
	for _, line := range []string{"1,6,", "1,7,", "2,6,", "2,7,"} {
		for _, z := range "034567" {
			senders = append(senders, u.device(t, line+string(z)))
		}
	}
	slices.Sort(senders)
	end, beside := u.device(t, "2,7,7"), u.device(t, "2,7,0")
	links := u.share(senders, end, 10e9)
	slices.Sort(links)
	h := &u.stage.work.held
	h.take(links, u.p)
	routes := func(to topology.DeviceID) float64 {
		h.tree.Gather(senders, to)
		return h.cosines(u.p)[addedTo]
	}
	if right, wrong := routes(end), routes(beside); right > wrong {
		t.Errorf("the routes agree by %.3f and %.3f: the case is too easy to show anything", right, wrong)
	}
	named := func() string {
		rc := &regionCase{region: &schema.Region{Metric: schema.CreditStall, Links: links}, jobs: []suspect{{job: &job{devices: senders}, cross: 1}}}
		u.stage.converge(rc, u.p)
		return u.stage.graph.Device(rc.drain.device).Name
	}
	if at := named(); at != "2,7,7" {
		t.Errorf("traffic ends at %s", at)
	}
	for _, l := range links { // a lost reading hides nothing, but of the link between the two
		from, to := u.stage.graph.Ends(l)
		if min(from, to) == beside && max(from, to) == end {
			continue
		}
		u.p.use.Valid.Unset(int(l))
		h.looked++
		if at := named(); at != "2,7,7" {
			t.Errorf("without a reading of link %d traffic ends at %s", l, at)
		}
		u.p.use.Valid.Set(int(l))
	}
}
