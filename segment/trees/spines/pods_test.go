package spines_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/segment/segmenttest"
)

// sixteenPods has eight leaves and spines in each pod.
const sixteenPods = "fattree:k=16"

// podTree is a tree at leaf 0-root whose links down stall by shares of percent, and the uplinks of leaves of the pod by half of what
// they wait for, as do six of their hosts.
func podTree(root int, percent float32, shares [8]float32, leaves ...int) stalls.ByEnds {
	at := fmt.Sprint("leaf0-", root)
	s := stalls.ByEnds{{at, fmt.Sprint("host", 8*root)}: percent}
	for spine, share := range shares {
		s[[2]string{fmt.Sprint("agg0-", spine), at}] = share * percent
	}
	for _, leaf := range leaves {
		s = s.With(podSender(leaf, percent/2, shares))
	}
	return s
}

// podSender is a leaf whose uplinks stall by shares of percent, and six of its hosts.
func podSender(leaf int, percent float32, shares [8]float32) stalls.ByEnds {
	s := stalls.ByEnds{}
	for spine, share := range shares {
		s[[2]string{fmt.Sprint("leaf0-", leaf), fmt.Sprint("agg0-", spine)}] = share * percent
	}
	for h := 8 * leaf; h < 8*leaf+6; h++ {
		s[[2]string{fmt.Sprint("host", h), fmt.Sprint("leaf0-", leaf)}] = .7 * percent
	}
	return s
}

// aboveTree is a tree at leaf 1-0, into which leaves of pod 0 send: the links up from the spines of this stall by shares of percent.
func aboveTree(percent float32, shares [8]float32, leaves ...int) stalls.ByEnds {
	s := stalls.ByEnds{{"leaf1-0", "host64"}: 1.5 * percent}
	for spine, share := range shares {
		s[[2]string{fmt.Sprint("agg1-", spine), "leaf1-0"}] = 1.3 * percent
		for k := range 8 {
			core := fmt.Sprint("core", 8*spine+k)
			s[[2]string{fmt.Sprint("agg0-", spine), core}] = share * percent
			s[[2]string{core, fmt.Sprint("agg1-", spine)}] = 1.2 * percent
		}
	}
	for _, leaf := range leaves {
		s = s.With(podSender(leaf, percent/2, shares))
	}
	return s
}

// The leaves of a pod send into two trees that fall to the same level, in the pod or above it: which leaf sends into which shows in how
// its uplinks differ from spine to spine.
func TestUplinksOfAPodWaitForLinksOfTheirSpines(t *testing.T) {
	g := stalls.Fabric(t, sixteenPods)
	shares, others := [8]float32{.9, .7, .8, .6, .9, .6, .7, .8}, [8]float32{.6, .9, .7, .8, .7, .8, .9, .6}
	one := podTree(0, 60, shares, 2, 3, 4)
	for _, c := range []struct {
		name  string
		other stalls.ByEnds
	}{
		{"in the pod", podTree(1, 60, others, 5, 6)},
		{"above", aboveTree(60, others, 5, 6)},
	} {
		for seed := range int64(3) {
			values := one.Plus(c.other).On(t, g).Noisy(1, seed)
			segmenttest.WantRegions(t, fmt.Sprint(c.name, ", seed ", seed), g, segmenttest.Find(t, g, segmenttest.Overlapping(), values), one, c.other)
		}
	}
}

// Where each destination has a path, only some uplinks of a leaf that exchanges wait for a tree, too, and those stall clearly more than
// the others: they are not divided as a whole.
func TestUplinksOfAPodThatWaitForDifferentTrees(t *testing.T) {
	g := stalls.Fabric(t, sixteenPods)
	even := [8]float32{1, 1, 1, 1, 1, 1, 1, 1}
	exchange, tree := stalls.ByEnds{}, podTree(0, 30, even)
	for leaf := 1; leaf < 8; leaf++ {
		exchange = exchange.With(podSender(leaf, 15, even))
		for spine := range 8 {
			up, at := fmt.Sprint("agg0-", spine), fmt.Sprint("leaf0-", leaf)
			exchange[[2]string{up, at}] = 15
			if leaf < 6 && (spine+leaf)%8 < 4 {
				tree[[2]string{at, up}] = 14
			}
		}
	}
	got := segmenttest.Find(t, g, segmenttest.Overlapping(), exchange.Plus(tree).On(t, g).Noisy(.6, 1))
	segmenttest.WantRegions(t, "two groups of uplinks", g, got, exchange.Except(tree), tree)
}
