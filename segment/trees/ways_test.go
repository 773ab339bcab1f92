package trees_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

const sixteenLeaves = "fattree:leaves=16,hosts=8,spines=8"

// allWaysUp is an exchange of some leaves: hosts and all ways up stall alike, and those down if they do.
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

// treeOver is a tree whose root is a port of a leaf, and to which all comes over one spine.
func treeOver(spine, root, host int, percent float32, leaves ...int) stalls.ByEnds {
	over, at := fmt.Sprint("spine", spine), fmt.Sprint("leaf", root)
	s := stalls.ByEnds{{at, fmt.Sprint("host", host)}: percent, {over, at}: .8 * percent}
	for _, leaf := range leaves {
		name := fmt.Sprint("leaf", leaf)
		s[[2]string{name, over}] = .65 * percent
		for host := 8 * leaf; host < 8*leaf+5; host++ {
			s[[2]string{fmt.Sprint("host", host), name}] = .55 * percent
		}
	}
	return s
}

// Where routes are by destination a tree comes over one spine. What takes all ways does not wait for it, though it passes
// that spine, too, nor the tree for what comes down over all ways.
func TestTreeOverOneSpineBesideWhatTakesAllWays(t *testing.T) {
	g := stalls.Fabric(t, sixteenLeaves)
	tree := treeOver(3, 5, 44, 60, 4, 6, 7, 8)
	for name, exchange := range map[string]stalls.ByEnds{
		"an exchange whose ports are full and do not stall": allWaysUp(25, 0, 0, 1, 2),
		"an exchange that stalls on its ways down":          allWaysUp(45, 45, 0, 1, 2, 9),
	} {
		values := exchange.With(tree).On(t, g)
		got := segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(.4, 1))
		wantRegions(t, name, g, got, exchange, tree)
	}
}

// wantRegions checks that the regions are these, in any order.
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
