package spines_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/segment/segmenttest"
)

// unevenTree is a tree over all spines whose links down to the root stall by shares of percent, and the uplinks of leaves by half
// of what they wait for. Half of the hosts of these wait.
func unevenTree(root, host int, percent float32, shares [8]float32, leaves ...int) stalls.ByEnds {
	s := stalls.TreeOverAll(root, host, 4, percent, leaves...)
	for spine, share := range shares {
		over := fmt.Sprint("spine", spine)
		s[[2]string{over, fmt.Sprint("leaf", root)}] = share * percent
		for _, leaf := range leaves {
			s[[2]string{fmt.Sprint("leaf", leaf), over}] = share * percent / 2
		}
	}
	return s
}

// Two trees fall to the same level: which leaves send into which shows in how their uplinks differ from spine to spine, as the
// links down to the roots do.
func TestUplinksWaitForTheLinksDownOfTheirSpines(t *testing.T) {
	g := stalls.Fabric(t, stalls.SixteenLeaves)
	one := unevenTree(0, 3, 60, [8]float32{.9, .7, .8, .6, .9, .6, .7, .8}, 2, 3, 4)
	other := unevenTree(1, 12, 60, [8]float32{.6, .9, .7, .8, .7, .8, .9, .6}, 5, 6)
	for seed := range int64(5) {
		values := one.Plus(other).On(t, g).Noisy(1, seed)
		segmenttest.WantRegions(t, fmt.Sprint("seed ", seed), g, segmenttest.Find(t, g, segmenttest.Overlapping(), values), one, other)
	}
}
