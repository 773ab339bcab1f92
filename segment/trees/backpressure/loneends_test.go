package backpressure_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/segmenttest"
)

// Links at different levels that wait at a core for a tree do not wait for another link down from it that is hot by
// chance, however much that stalls, unless some of them show it: those stall more than the links beside them.
func TestLinksThatRaiseNothingAreNoRoots(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=16")
	for _, c := range []struct {
		raised  int // links that wait for the hot link alone
		regions int
	}{{0, 1}, {8, 2}} {
		s := stalls.ByEnds{{"leaf1-0", "host64"}: 70, {"agg1-0", "leaf1-0"}: 68, {"core0", "agg2-0"}: 30}
		for core := range 8 {
			s[[2]string{fmt.Sprint("core", core), "agg1-0"}] = 65
			for pod := 3 + c.raised; pod < 16; pod++ {
				s[[2]string{fmt.Sprintf("agg%d-0", pod), fmt.Sprint("core", core)}] = float32(18 + (7*pod+5*core)%10)
			}
		}
		for pod := 3; pod < 3+c.raised; pod++ {
			s[[2]string{fmt.Sprintf("agg%d-0", pod), "core0"}] = 28
		}
		if got := segmenttest.Find(t, g, segmenttest.Overlapping(), s.On(t, g).Noisy(.4, 1)); len(got) != c.regions {
			t.Errorf("%d links stall more: %s, want %d regions", c.raised, segmenttest.Sizes(got), c.regions)
		}
	}
}

// A link down that is hot by chance beside one of a tree, and stalls less, is no root: all that may wait for it may wait for
// the tree.
func TestOutshoneLinksAreNoRoots(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=16")
	s := stalls.ByEnds{{"leaf1-0", "host64"}: 70, {"agg1-0", "leaf1-3"}: 25}
	for plane := range 8 {
		agg := fmt.Sprint("agg1-", plane)
		s[[2]string{agg, "leaf1-0"}] = 60
		for k := range 8 {
			core := fmt.Sprint("core", 8*plane+k)
			s[[2]string{core, agg}] = float32(20 + 4*((3*k+plane)%8))
			for pod := 4; pod < 12; pod++ {
				s[[2]string{fmt.Sprintf("agg%d-%d", pod, plane), core}] = float32(18 + 4*((3*k+plane+pod)%8))
			}
		}
	}
	if got := segmenttest.Find(t, g, segmenttest.Overlapping(), s.On(t, g).Noisy(.4, 1)); len(got) != 1 {
		t.Errorf("%s, want one", segmenttest.Sizes(got))
	}
}

// A port that is hot by chance at a leaf whose hosts wait for its uplinks is no root of some of them, if its own host waits, too.
func TestPortsBesideUplinksAreNoRoots(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=32,hosts=16,spines=16")
	s := stalls.ByEnds{{"leaf5", "host80"}: 66, {"leaf6", "host96"}: 17}
	for spine := range 16 {
		over := fmt.Sprint("spine", spine)
		s[[2]string{over, "leaf5"}] = 64
		for leaf := 6; leaf < 12; leaf++ {
			s[[2]string{fmt.Sprint("leaf", leaf), over}] = 41
		}
	}
	for leaf := 6; leaf < 12; leaf++ {
		for h := range 14 {
			s[[2]string{fmt.Sprint("host", 16*leaf+h), fmt.Sprint("leaf", leaf)}] = float32(14 + .7*float64(h))
		}
	}
	if got := segmenttest.Find(t, g, segmenttest.Overlapping(), s.On(t, g).Noisy(.4, 1)); len(got) != 1 {
		t.Errorf("%s, want one", segmenttest.Sizes(got))
	}
}

// Behind a spine that reports nothing, traffic waits at the leaf to which the other spines' links stall, not for a
// hot port of a leaf to which none does.
func TestUnreadLinksStallLikeTheirSiblings(t *testing.T) {
	g := stalls.Fabric(t, stalls.SixteenLeaves)
	s := stalls.TreeOverAll(5, 44, 8, 60, 6, 7, 8, 10, 11).Plus(stalls.ByEnds{{"leaf9", "host77"}: 20})
	for leaf := 6; leaf < 12; leaf++ {
		s[[2]string{fmt.Sprint("leaf", leaf), "spine0"}] = 17
		for h := range 5 {
			s[[2]string{fmt.Sprint("host", 8*leaf+h), fmt.Sprint("leaf", leaf)}] = 12
		}
	}
	values := s.On(t, g).Noisy(.4, 1)
	for l := range schema.LinkID(g.NumLinks()) {
		if from, _ := g.Ends(l); g.Device(from).Name == "spine0" {
			values[l] = linkset.Missing
		}
	}
	snap := stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: values})
	up := stalls.LinkNamed(t, g, "leaf6", "spine0")
	for _, r := range segmenttest.New(t, g, segmenttest.Overlapping()).Step(snap) {
		if isAtTree := r.Root != nil && r.Root.Device == "leaf5"; slices.Contains(r.Links, up) != isAtTree {
			t.Errorf("region of %d links, root at leaf5 %v: has a link up to spine0 %v", r.Size, isAtTree, !isAtTree)
		}
	}
}
