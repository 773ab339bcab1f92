package trees_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/segmenttest"
)

// Hosts and uplinks that stall less than most of their tree do not wait for a lone hot link that stalls less than
// they do, while the tree's next links stall more. They may if no other link explains them.
func TestLoneHotLinksAreNoRoots(t *testing.T) {
	g := stalls.Fabric(t, sixteenLeaves)
	tree := treeOverAll(5, 44, 8, 60, 6, 7, 8, 9, 10, 11)
	for leaf := 6; leaf < 10; leaf++ {
		tree[[2]string{fmt.Sprint("leaf", leaf), "spine0"}] = 11
	}
	for _, c := range []struct {
		name    string
		end     [2]string
		percent float32
		hosts   float32 // stall of links from hosts of leaf6
		regions int
	}{
		{"port", [2]string{"leaf6", "host50"}, 8, 11, 1},
		{"link to a leaf", [2]string{"spine0", "leaf13"}, 8, 11, 1},
		{"port with hosts that stall more than the tree", [2]string{"leaf6", "host50"}, 50, 60, 2},
	} {
		s := tree.Plus(stalls.ByEnds{c.end: c.percent})
		for h := 48; h < 56; h++ {
			s[[2]string{fmt.Sprint("host", h), "leaf6"}] = c.hosts
		}
		if got := segmenttest.Find(t, g, segmenttest.Overlapping(), s.On(t, g).Noisy(.4, 1)); len(got) != c.regions {
			t.Errorf("%s: %s, want %d regions", c.name, segmenttest.Sizes(got), c.regions)
		}
	}
}

// The same holds for a lone hot link between switches above the leaves, also if what waits for both stalls a little more
// than the tree's next link, within the noise.
func TestLoneHotLinksAboveLeavesAreNoRoots(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=16")
	tree := stalls.ByEnds{{"leaf1-0", "host64"}: 70, {"agg1-0", "leaf1-0"}: 68, {"core0", "agg1-0"}: 66, {"core0", "agg2-0"}: 8}
	for pod := 3; pod < 12; pod++ {
		stall := float32(68)
		if pod >= 6 {
			stall = 13
		}
		tree[[2]string{fmt.Sprintf("agg%d-0", pod), "core0"}] = stall
		tree[[2]string{fmt.Sprintf("leaf%d-0", pod), fmt.Sprintf("agg%d-0", pod)}] = .9 * stall
		tree[[2]string{fmt.Sprint("host", 64*pod), fmt.Sprintf("leaf%d-0", pod)}] = .8 * stall
	}
	got := segmenttest.Find(t, g, segmenttest.Overlapping(), tree.On(t, g).Noisy(.4, 1))
	if len(got) != 1 || got[0].Root == nil || got[0].Root.Device != "leaf1-0" {
		t.Errorf("%s, want one region with its root at leaf1-0", segmenttest.Sizes(got))
	}
}

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

// Behind a spine that reports nothing, traffic waits at the leaf to which the other spines' links stall, not for a
// hot port of a leaf to which none does.
func TestUnreadLinksStallLikeTheirSiblings(t *testing.T) {
	g := stalls.Fabric(t, sixteenLeaves)
	s := treeOverAll(5, 44, 8, 60, 6, 7, 8, 10, 11).Plus(stalls.ByEnds{{"leaf9", "host77"}: 20})
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
