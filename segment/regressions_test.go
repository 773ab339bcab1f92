package segment

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// What the statistical method once got wrong on drawn snapshots, made small.

// find is the regions of a painting, the largest first.
func find(t *testing.T, g *topology.Graph, cfg Config, values painting) []schema.Region {
	t.Helper()
	snap := snapshotOf(map[schema.Metric][]float32{schema.CreditStall: values})
	regions := newSegmenter(t, g, cfg).Step(snap)
	checkRegions(t, g, cfg, snap, regions)
	return regions
}

// wavy is calm all over, with the noise of real counters: cut off at none.
func wavy(g *topology.Graph, seed int64) painting {
	p, rng := blank(g), rand.New(rand.NewSource(seed))
	for l := range p {
		p[l] = max(0, 1.5+1.5*float32(rng.NormFloat64()))
	}
	return p
}

// add raises links by a level under noise.
func (p painting) add(percent, sigma float32, links []schema.LinkID, seed int64) painting {
	rng := rand.New(rand.NewSource(seed))
	for _, l := range links {
		p[l] = max(0, percent+sigma*float32(rng.NormFloat64()))
	}
	return p
}

// What lies around a region is a little stalled too, and noise lifts every other
// link of that over what is hot: it drags a low region neither into the background
// nor over the fabric.
func TestLowRegionInAHalo(t *testing.T) {
	g := parse(t, "torus:16x16x16")
	halo, region := box(g, [3]int{3, 3, 3}, [3]int{9, 9, 9}), box(g, [3]int{5, 5, 5}, [3]int{5, 5, 5})
	for seed := range int64(10) {
		values := wavy(g, seed).add(5.5, 2, halo, seed+100).add(9.5, 2, region, seed+200)
		got := find(t, g, DefaultConfig(), values)
		if len(got) != 1 {
			t.Errorf("seed %d: got %s, want one", seed, sizes(got))
			continue
		}
		lost, outside := len(without(region, got[0].Links)), len(without(got[0].Links, region))
		if lost*10 > len(region) || outside*3 > len(region) {
			t.Errorf("seed %d: %d of %d links lost, %d of the halo taken in", seed, lost, len(region), outside)
		}
	}
}

// In calm surroundings a link that is far above the noise stays: at a switch of
// many ports a tree of pauses is a small part.
func TestStrongLinksOfAWideSwitchStay(t *testing.T) {
	g := parse(t, "fattree:leaves=8,hosts=48,spines=24")
	hosts := g.Hosts()
	var leaf topology.DeviceID
	var tree []schema.LinkID
	for _, h := range hosts[:22] { // of 48 hosts and 24 spines at their leaf
		for _, l := range g.LinksAt(h) {
			if from, to := g.Ends(l); to == h {
				leaf, tree = from, append(tree, l)
			}
		}
	}
	slices.Sort(tree)
	if n := len(g.LinksAt(leaf)); n < 6*len(tree) {
		t.Fatalf("%d of %d links at the switch: too many to test anything", len(tree), n)
	}
	rng := rand.New(rand.NewSource(1))
	values := blank(g)
	for l := range values {
		values[l] = float32(.4 * rng.ExpFloat64())
	}
	got := find(t, g, DefaultConfig(), values.add(30, 1, tree, 2))
	if len(got) != 1 || !slices.Equal(got[0].Links, tree) {
		t.Errorf("got %s, want the %d links of the tree", sizes(got), len(tree))
	}
}

// A region that happens to be as stalled as two calmer ones beside it together is
// no sum of them: it goes on where neither is.
func TestSumByChanceIsNone(t *testing.T) {
	g := parse(t, "torus:16x16x16")
	low, middle := box(g, [3]int{1, 4, 4}, [3]int{3, 4, 4}), box(g, [3]int{6, 4, 4}, [3]int{3, 4, 4})
	high := box(g, [3]int{4, 2, 2}, [3]int{2, 8, 8})
	values := blank(g).paint(15, low).paint(25, middle).paint(40, high)
	for _, overlap := range []bool{false, true} {
		cfg := DefaultConfig()
		cfg.Overlap = overlap
		got := find(t, g, cfg, values.noisy(1, 1))
		var links [][]schema.LinkID
		for _, r := range got {
			links = append(links, r.Links)
		}
		if !slices.EqualFunc(links, [][]schema.LinkID{high, low, middle}, slices.Equal) && !slices.EqualFunc(links, [][]schema.LinkID{high, middle, low}, slices.Equal) {
			t.Errorf("overlap %v: got %s, want %s", overlap, sizes(got), sizesOf([][]schema.LinkID{high, low, middle}))
		}
	}
}

// A bar of three switches by two has a narrow inside, which three false zeros at
// its skin cut in two: the bar still is one region.
func TestBarOfWhichTheInsideIsCut(t *testing.T) {
	g := parse(t, "torus:40x12x12")
	bar := box(g, [3]int{2, 4, 4}, [3]int{36, 3, 2})
	above, corner := box(g, [3]int{20, 5, 5}, [3]int{1, 1, 1}), box(g, [3]int{20, 6, 5}, [3]int{1, 1, 1})
	for seed := range int64(10) {
		values := wavy(g, seed).add(40, 4, bar, seed+100).paint(0, above[2:]).paint(0, corner[1:])
		got := find(t, g, DefaultConfig(), values)
		if len(got) != 1 || got[0].Size < len(bar)*9/10 {
			t.Errorf("seed %d: got %s, want one of about %d links", seed, sizes(got), len(bar))
		}
	}
}
