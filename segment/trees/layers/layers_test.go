package layers_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/segment/bench"
	"github.com/giverny/giverny/segment/segmenttest"
)

// Exchanges over the same spines are separated by the levels of their leaves, even near ones; a leaf whose levels are
// the sum of two belongs to both.
func TestExchangesOverTheSameSpines(t *testing.T) {
	g := stalls.Fabric(t, stalls.SixteenLeaves)
	low, high := stalls.AllWaysUp(30, 30, 0, 1, 2, 6), stalls.AllWaysUp(35, 35, 3, 4, 5, 6)
	segmenttest.WantRegions(t, "both ways", g, segmenttest.Find(t, g, segmenttest.Overlapping(), low.Plus(high).On(t, g).Noisy(.6, 1)), low, high)
}

// Some hosts of a leaf take part in an exchange: they receive over some downlinks, and two ports stall.
func TestSomeHostsOfALeafExchange(t *testing.T) {
	g := stalls.Fabric(t, stalls.SixteenLeaves)
	exchange := stalls.AllWaysUp(30, 30, 0, 1, 2)
	for host := range 2 {
		name := fmt.Sprint("host", 24+host)
		exchange[[2]string{name, "leaf3"}], exchange[[2]string{"leaf3", name}] = 30, 31
		exchange[[2]string{fmt.Sprint("spine", host), "leaf3"}] = 29
	}
	for spine := range 8 {
		exchange[[2]string{"leaf3", fmt.Sprint("spine", spine)}] = 30
	}
	segmenttest.WantRegions(t, "two hosts", g, segmenttest.Find(t, g, segmenttest.Overlapping(), exchange.On(t, g).Noisy(.4, 1)), exchange)
}

// A tree over all spines adds to what a leaf sends in an exchange. Its own sources are no exchange, though all their
// hosts send.
func TestTreeBesideExchangeOverTheSameSpines(t *testing.T) {
	g := stalls.Fabric(t, stalls.SixteenLeaves)
	exchange, tree := stalls.AllWaysUp(45, 45, 0, 1, 2), stalls.TreeOverAll(5, 44, 5, 40, 1, 6, 7, 8)
	segmenttest.WantRegions(t, "beside", g, segmenttest.Find(t, g, segmenttest.Overlapping(), exchange.Plus(tree).On(t, g).Noisy(.4, 1)), exchange, tree)

	exchange, within := stalls.AllWaysUp(30, 30, 0, 1, 2), stalls.ByEnds{{"leaf1", "host15"}: 50}
	for h := range 7 {
		within[[2]string{fmt.Sprint("host", 8+h), "leaf1"}] = 35
	}
	segmenttest.WantRegions(t, "within a leaf", g, segmenttest.Find(t, g, segmenttest.Overlapping(), exchange.Plus(within).On(t, g).Noisy(.4, 1)), exchange, within)

	tree = stalls.TreeOverAll(5, 44, 8, 40, 6, 7, 8)
	segmenttest.WantRegions(t, "alone", g, segmenttest.Find(t, g, segmenttest.Overlapping(), tree.On(t, g).Noisy(.4, 1)), tree)
}

// Leaves of an exchange that also send into a tree send more than the others, but receive as these do.
func TestLeavesOfAnExchangeAlsoSendIntoATree(t *testing.T) {
	g := stalls.Fabric(t, stalls.SixteenLeaves)
	exchange, tree := stalls.AllWaysUp(16, 16, 2, 3, 4, 5), stalls.TreeOverAll(0, 3, 8, 70, 4, 5)
	segmenttest.WantRegions(t, "two of four", g, segmenttest.Find(t, g, segmenttest.Overlapping(), exchange.Plus(tree).On(t, g).Noisy(.4, 1)), exchange, tree)
}

func TestLayersDoNotAllocate(t *testing.T) {
	set := bench.Storm(stalls.SixteenLeaves, 6)
	g := stalls.Fabric(t, stalls.SixteenLeaves)
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
	g := stalls.Fabric(t, stalls.SixteenLeaves)
	exchange := stalls.ByEnds{}
	for ends, percent := range stalls.AllWaysUp(50, 50, 0, 1, 2, 3) {
		if ends[0][:4] != "host" {
			exchange[ends] = percent
		}
	}
	for spine := range 3 {
		exchange[[2]string{fmt.Sprint("spine", spine), "leaf3"}] = 0
	}
	segmenttest.WantRegions(t, "zeros", g, segmenttest.Find(t, g, segmenttest.Overlapping(), exchange.On(t, g).Noisy(.4, 1)), exchange)
}
