package trees_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/segment/segmenttest"
)

// incastInto stalls the port of a leaf's first host, the links down to the leaf from some spines, and those by which
// the first hosts of other leaves get there.
func incastInto(leaf int, percent float32, spines, hosts int, from ...int) stalls.ByEnds {
	name := fmt.Sprint("leaf", leaf)
	s := stalls.ByEnds{{name, fmt.Sprint("host", 8*leaf)}: percent}
	for spine := range spines {
		s[[2]string{fmt.Sprint("spine", spine), name}] = percent
		for _, source := range from {
			s[[2]string{fmt.Sprint("leaf", source), fmt.Sprint("spine", spine)}] = percent
		}
	}
	for _, source := range from {
		for host := range hosts {
			s[[2]string{fmt.Sprint("host", 8*source+host), fmt.Sprint("leaf", source)}] = percent
		}
	}
	return s
}

// All hosts of a leaf wait, but few of its uplinks: most hosts do not wait for these, and are an exchange beside the tree
// that two of the uplinks are part of.
func TestHostsBesideATreeAreAnExchange(t *testing.T) {
	g := stalls.Fabric(t, stalls.SixteenLeaves)
	leaves := []int{1, 2, 3, 4, 7, 8, 11}
	exchange := hostsOf(30, 8, leaves...)
	tree := incastInto(12, 45, 2, 3, 1, 2, 3, 4, 5, 6, 9, 10).Except(exchange)
	got := segmenttest.Find(t, g, segmenttest.Overlapping(), exchange.With(tree).On(t, g).Noisy(.4, 1))
	segmenttest.WantRegions(t, "beside a tree", g, got, exchange, tree)
}

// The same hosts belong to a tree if it alone may be why they wait.
func TestHostsThatMayAllWaitForATree(t *testing.T) {
	g := stalls.Fabric(t, stalls.SixteenLeaves)
	for _, c := range []struct {
		name string
		tree stalls.ByEnds
	}{
		{"all uplinks of the leaves stall", incastInto(12, 60, 8, 3, 5, 6, 9, 10).With(incastInto(12, 60, 8, 0, 1, 4, 7)).With(hostsOf(18, 8, 1, 4, 7))},
		{"half of the uplinks stall, and more than the hosts", incastInto(12, 60, 5, 3, 5, 6, 9, 10).With(incastInto(12, 60, 5, 0, 1, 4, 7)).With(hostsOf(18, 8, 1, 4, 7))},
	} {
		got := segmenttest.Find(t, g, segmenttest.Overlapping(), c.tree.On(t, g).Noisy(.4, 1))
		segmenttest.WantRegions(t, c.name, g, got, c.tree)
	}
}

// An exchange that fills one more leaf in part stays one region.
func TestExchangeMayFillALeafInPart(t *testing.T) {
	g := stalls.Fabric(t, stalls.SixteenLeaves)
	all := hostsOf(30, 8, 1, 4, 7).With(hostsOf(30, 4, 9)).With(waysUp(30, 9))
	got := segmenttest.Find(t, g, segmenttest.Overlapping(), all.On(t, g).Noisy(.4, 1))
	segmenttest.WantRegions(t, "a leaf in part", g, got, all)
}

// All hosts of a leaf but one may wait for that one, if nothing that leaves the leaf stalls.
func TestHostsOfALeafMayWaitForTheOther(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=16,hosts=12,spines=8")
	var want []stalls.ByEnds
	all := stalls.ByEnds{}
	for k, leaf := range []int{2, 9} {
		s := stalls.ByEnds{}
		for host := range 11 {
			s[[2]string{fmt.Sprint("host", 12*leaf+host), fmt.Sprint("leaf", leaf)}] = float32(40 + 16*k + 3*host)
		}
		want, all = append(want, s), all.With(s)
	}
	segmenttest.WantRegions(t, "two receivers", g, segmenttest.Find(t, g, segmenttest.Overlapping(), all.On(t, g).Noisy(.4, 1)), want...)
}

// Two leaves, all of whose hosts wait equally for a receiver in their leaf, whose port stalls, are two trees.
func TestLeavesWithReceiversDoNotExchange(t *testing.T) {
	g := stalls.Fabric(t, stalls.SixteenLeaves)
	s := stalls.ByEnds{}
	for _, leaf := range []int{2, 11} {
		name := fmt.Sprint("leaf", leaf)
		for h := range 7 {
			s[[2]string{fmt.Sprint("host", 8*leaf+h), name}] = 22
		}
		s[[2]string{name, fmt.Sprint("host", 8*leaf+7)}] = 30
	}
	got := segmenttest.Find(t, g, segmenttest.Overlapping(), s.On(t, g).Noisy(.4, 1))
	if len(got) != 2 || got[0].Root == nil || got[1].Root == nil {
		t.Errorf("%s, want two with roots", segmenttest.Sizes(got))
	}
}
