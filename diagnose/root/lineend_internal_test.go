package root

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/topology"
)

// TestTrafficEndsWhereMostArrives: if switches serve their inputs in turn, a tree to a neighbour of the true end may
// fit the links' loads as well or better, but less arrives there.
func TestTrafficEndsWhereMostArrives(t *testing.T) {
	u := newTiedUp(t)
	var senders []topology.DeviceID
	for _, line := range []string{"1,6,", "1,7,", "2,6,", "2,7,"} {
		for _, z := range "034567" {
			senders = append(senders, u.Device(t, line+string(z)))
		}
	}
	slices.Sort(senders)
	end, beside := u.Device(t, "2,7,7"), u.Device(t, "2,7,0")
	links := u.Share(senders, end, 10e9)
	slices.Sort(links)
	r := u.f.Region(u.p, links)
	routes := func(to topology.DeviceID) float64 {
		r.tree.Gather(senders, to)
		return r.cosines()[addedTo]
	}
	if right, wrong := routes(end), routes(beside); right > wrong {
		t.Errorf("the routes agree by %.3f and %.3f: the case is too easy to show anything", right, wrong)
	}
	named := func() string {
		d, _ := u.f.Region(u.p, links).Drain([]Sender{{Devices: senders}})
		return u.Graph.Device(d.Device).Name
	}
	if at := named(); at != "2,7,7" {
		t.Errorf("traffic ends at %s", at)
	}
	for _, l := range links { // a lost reading changes nothing, except on the link between the two
		from, to := u.Graph.Ends(l)
		if min(from, to) == beside && max(from, to) == end {
			continue
		}
		u.p.Use.Valid.Unset(int(l))
		u.f.region.readings.forget()
		if at := named(); at != "2,7,7" {
			t.Errorf("without a reading of link %d traffic ends at %s", l, at)
		}
		u.p.Use.Valid.Set(int(l))
	}
}
