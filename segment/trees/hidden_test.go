package trees_test

import (
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/segment/segmenttest"
)

// Where links stall for the hotter of two causes, an exchange hides the links of a tree at one of its leaves: those down to
// that leaf, and the uplinks of the exchange's leaves that also send into the tree. What waits for these shows them.
func TestTreeHiddenByExchange(t *testing.T) {
	g := stalls.Fabric(t, sixteenLeaves)
	exchange, tree := allWaysUp(50, 50, 0, 1, 2), treeOverAll(1, 8, 0, 40, 6, 7, 8)
	wantRegions(t, "links down", g, segmenttest.Find(t, g, segmenttest.Overlapping(), tree.With(exchange).On(t, g).Noisy(.4, 1)), exchange, tree)

	ways := stalls.ByEnds{}
	for ends, percent := range exchange {
		if ends[0][:4] != "host" {
			ways[ends] = percent
		}
	}
	tree = treeOverAll(1, 8, 5, 40, 2, 6, 7)
	wantRegions(t, "uplinks", g, segmenttest.Find(t, g, segmenttest.Overlapping(), tree.With(ways).On(t, g).Noisy(.4, 1)), ways, tree)

	tree = treeOverAll(5, 40, 5, 40, 2, 6, 7)
	wantRegions(t, "uplinks to a tree elsewhere", g, segmenttest.Find(t, g, segmenttest.Overlapping(), tree.With(ways).On(t, g).Noisy(.4, 1)), ways, tree)
}
