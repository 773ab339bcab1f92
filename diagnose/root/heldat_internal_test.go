package root

import (
	"math"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestRoutesThatReachTheEndOverStalledLinks: the share counts routes, by whether the last link of each stalls; without
// routes it is 0.
func TestRoutesThatReachTheEndOverStalledLinks(t *testing.T) {
	u := newTiedUp(t)
	end := u.Device(t, "2,3,4")
	senders := []topology.DeviceID{u.Device(t, "2,3,2"), u.Device(t, "2,3,3"), u.Device(t, "2,3,5")}
	u.Stall.Values[roottest.Link(t, u.Graph, "2,3,3>2,3,4")] = 50
	u.Stall.Values[roottest.Link(t, u.Graph, "2,3,4>2,3,5")] = stalledPercent - 1
	r := u.f.Region(u.p, nil)
	r.tree.Gather(senders, end)
	if got := r.heldAt(end); math.Abs(got-2./3) > 1e-9 {
		t.Errorf("of three routes two reach the end over a stalled link, found %v", got)
	}
	r.tree.Reset()
	r.tree.Gather([]topology.DeviceID{end}, end)
	if got := r.heldAt(end); got != 0 {
		t.Errorf("without routes %v reach the end over stalled links", got)
	}
	r.tree.Reset()
}

// TestLinksBesideTheRegionCount: what links of a tree show counts alike, whether they belong to the region or not.
func TestLinksBesideTheRegionCount(t *testing.T) {
	u := newTiedUp(t)
	senders := []topology.DeviceID{u.Device(t, "0,0,1"), u.Device(t, "1,5,2"), u.Device(t, "6,3,7"),
		u.Device(t, "7,7,0")}
	slices.Sort(senders)
	end := u.Device(t, "2,3,4")
	links := u.Send(senders, end)
	slices.Sort(links)
	u.Use.Values[links[0]] += 7 // of others
	fits := func(region []schema.LinkID) (cosines [measures]float64, converging float64) {
		r := u.f.Region(u.p, region)
		r.tree.Gather(senders, end)
		return r.cosines(), r.Converging(senders, end)
	}
	cosines, converging := fits(links)
	for part := range len(links) {
		of, by := fits(links[part:])
		for m := range of {
			if math.Abs(of[m]-cosines[m]) > 1e-9 || cosines[m] > 1 {
				t.Errorf("without %d links of the region reading %d agrees by %v, with them by %v", part, m, of[m],
					cosines[m])
			}
		}
		if math.Abs(by-converging) > 1e-9 {
			t.Errorf("without %d links of the region traffic converges by %v, with them by %v", part, by, converging)
		}
	}
}
