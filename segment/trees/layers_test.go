package trees_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/bench"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

const sixteenLeaves = "fattree:leaves=16,hosts=8,spines=8"

// allWaysUp is an exchange among some leaves: hosts and all uplinks stall alike, and downlinks at a level of their
// own.
func allWaysUp(percent, down float32, leaves ...int) stalls.ByEnds {
	s := stalls.ByEnds{}
	for _, leaf := range leaves {
		name := fmt.Sprint("leaf", leaf)
		for spine := range 8 {
			s[[2]string{name, fmt.Sprint("spine", spine)}] = percent
			s[[2]string{fmt.Sprint("spine", spine), name}] = down
		}
		for host := 8 * leaf; host < 8*leaf+8; host++ {
			s[[2]string{fmt.Sprint("host", host), name}] = percent
		}
	}
	return s
}

// wantRegions checks that exactly these regions were found, in any order.
func wantRegions(t *testing.T, name string, g *topology.Graph, got []schema.Region, want ...stalls.ByEnds) {
	t.Helper()
	for _, s := range want {
		links := map[schema.LinkID]bool{}
		for ends, percent := range s {
			if percent >= schema.LowPercent {
				links[stalls.LinkNamed(t, g, ends[0], ends[1])] = true
			}
		}
		isFound := false
		for _, r := range got {
			n := 0
			for _, l := range r.Links {
				if links[l] {
					n++
				}
			}
			isFound = isFound || n == len(links) && len(r.Links) == n
		}
		if !isFound || len(got) != len(want) {
			t.Errorf("%s: %s, one of them should be these %d links", name, segmenttest.Sizes(got), len(links))
		}
	}
}

// treeOverAll is a tree whose root is a leaf's port, with traffic over all spines from so many hosts of each leaf.
func treeOverAll(root, host, hosts int, percent float32, leaves ...int) stalls.ByEnds {
	at := fmt.Sprint("leaf", root)
	s := stalls.ByEnds{{at, fmt.Sprint("host", host)}: percent}
	for spine := range 8 {
		over := fmt.Sprint("spine", spine)
		s[[2]string{over, at}] = .9 * percent
		for _, leaf := range leaves {
			s[[2]string{fmt.Sprint("leaf", leaf), over}] = .5 * percent
		}
	}
	for _, leaf := range leaves {
		for h := 8 * leaf; h < 8*leaf+hosts; h++ {
			s[[2]string{fmt.Sprint("host", h), fmt.Sprint("leaf", leaf)}] = .48 * percent
		}
	}
	return s
}

// Exchanges over the same spines are separated by the levels of their leaves, even near ones; a leaf whose levels are
// the sum of two belongs to both.
func TestExchangesOverTheSameSpines(t *testing.T) {
	g := stalls.Fabric(t, sixteenLeaves)
	low, high := allWaysUp(30, 30, 0, 1, 2, 6), allWaysUp(35, 35, 3, 4, 5, 6)
	wantRegions(t, "both ways", g, segmenttest.Find(t, g, segmenttest.Overlapping(), low.Plus(high).On(t, g).Noisy(.6, 1)), low, high)
}

// Some hosts of a leaf take part in an exchange: they receive over some downlinks, and two ports stall.
func TestSomeHostsOfALeafExchange(t *testing.T) {
	g := stalls.Fabric(t, sixteenLeaves)
	exchange := allWaysUp(30, 30, 0, 1, 2)
	for host := range 2 {
		name := fmt.Sprint("host", 24+host)
		exchange[[2]string{name, "leaf3"}], exchange[[2]string{"leaf3", name}] = 30, 31
		exchange[[2]string{fmt.Sprint("spine", host), "leaf3"}] = 29
	}
	for spine := range 8 {
		exchange[[2]string{"leaf3", fmt.Sprint("spine", spine)}] = 30
	}
	wantRegions(t, "two hosts", g, segmenttest.Find(t, g, segmenttest.Overlapping(), exchange.On(t, g).Noisy(.4, 1)), exchange)
}

// A tree over all spines adds to what a leaf sends in an exchange. Its own sources are no exchange, though all their
// hosts send.
func TestTreeBesideExchangeOverTheSameSpines(t *testing.T) {
	g := stalls.Fabric(t, sixteenLeaves)
	exchange, tree := allWaysUp(45, 45, 0, 1, 2), treeOverAll(5, 44, 5, 40, 1, 6, 7, 8)
	wantRegions(t, "beside", g, segmenttest.Find(t, g, segmenttest.Overlapping(), exchange.Plus(tree).On(t, g).Noisy(.4, 1)), exchange, tree)

	exchange, within := allWaysUp(30, 30, 0, 1, 2), stalls.ByEnds{{"leaf1", "host15"}: 50}
	for h := range 7 {
		within[[2]string{fmt.Sprint("host", 8+h), "leaf1"}] = 35
	}
	wantRegions(t, "within a leaf", g, segmenttest.Find(t, g, segmenttest.Overlapping(), exchange.Plus(within).On(t, g).Noisy(.4, 1)), exchange, within)

	tree = treeOverAll(5, 44, 8, 40, 6, 7, 8)
	wantRegions(t, "alone", g, segmenttest.Find(t, g, segmenttest.Overlapping(), tree.On(t, g).Noisy(.4, 1)), tree)
}

// Leaves of an exchange that also send into a tree send more than the others, but receive as these do.
func TestLeavesOfAnExchangeAlsoSendIntoATree(t *testing.T) {
	g := stalls.Fabric(t, sixteenLeaves)
	exchange, tree := allWaysUp(16, 16, 2, 3, 4, 5), treeOverAll(0, 3, 8, 70, 4, 5)
	wantRegions(t, "two of four", g, segmenttest.Find(t, g, segmenttest.Overlapping(), exchange.Plus(tree).On(t, g).Noisy(.4, 1)), exchange, tree)
}

func TestLayersDoNotAllocate(t *testing.T) {
	set := bench.Storm(sixteenLeaves, 6)
	g := stalls.Fabric(t, sixteenLeaves)
	s := segmenttest.NewStepper(t, g, segmenttest.Overlapping(), segmenttest.Draw(g, set, 3))
	all := func() {
		for range 3 {
			s.Segment()
		}
	}
	if n := testing.AllocsPerRun(5, all); n > 0 {
		t.Errorf("%v allocations per 3 steps", n)
	}
}

// A leaf of an exchange is part of it even if three of the links to it read a false zero.
func TestLeafOfAnExchangeWithFalseZeros(t *testing.T) {
	g := stalls.Fabric(t, sixteenLeaves)
	exchange := stalls.ByEnds{}
	for ends, percent := range allWaysUp(50, 50, 0, 1, 2, 3) {
		if ends[0][:4] != "host" {
			exchange[ends] = percent
		}
	}
	for spine := range 3 {
		exchange[[2]string{fmt.Sprint("spine", spine), "leaf3"}] = 0
	}
	wantRegions(t, "zeros", g, segmenttest.Find(t, g, segmenttest.Overlapping(), exchange.On(t, g).Noisy(.4, 1)), exchange)
}
