package segment_test

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// Minimised snapshots on which the statistical method was once wrong.

// The halo of a region is slightly stalled, and noise makes every other link of it hot:
// this must merge a low region neither into the background nor across the fabric.
func TestLowRegionInAHalo(t *testing.T) {
	g := stalls.Fabric(t, "torus:16x16x16")
	halo, region := stalls.Box(g, [3]int{3, 3, 3}, [3]int{9, 9, 9}), stalls.Box(g, [3]int{5, 5, 5}, [3]int{5, 5, 5})
	for seed := range int64(10) {
		values := stalls.Wavy(g, seed).Add(5.5, 2, halo, seed+100).Add(9.5, 2, region, seed+200)
		got := segmenttest.Find(t, g, segment.DefaultConfig(), values)
		if len(got) != 1 {
			t.Errorf("seed %d: got %s, want one", seed, segmenttest.Sizes(got))
			continue
		}
		lost, outside := len(stalls.Without(region, got[0].Links)), len(stalls.Without(got[0].Links, region))
		if lost*10 > len(region) || outside*3 > len(region) {
			t.Errorf("seed %d: %d of %d links lost, %d of the halo taken in", seed, lost, len(region), outside)
		}
	}
}

// In a calm context a link far above the noise is kept: at a switch with many ports a
// tree of pauses is a small part.
func TestStrongLinksOfAWideSwitchStay(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=8,hosts=48,spines=24")
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
	values := stalls.Blank(g)
	for l := range values {
		values[l] = float32(.4 * rng.ExpFloat64())
	}
	got := segmenttest.Find(t, g, segment.DefaultConfig(), values.Add(30, 1, tree, 2))
	if len(got) != 1 || !slices.Equal(got[0].Links, tree) {
		t.Errorf("got %s, want the %d links of the tree", segmenttest.Sizes(got), len(tree))
	}
}

// A region that happens to stall as much as two adjacent calmer ones together is not
// their sum: it extends beyond both.
func TestSumByChanceIsNone(t *testing.T) {
	g := stalls.Fabric(t, "torus:16x16x16")
	low, middle := stalls.Box(g, [3]int{1, 4, 4}, [3]int{3, 4, 4}), stalls.Box(g, [3]int{6, 4, 4}, [3]int{3, 4, 4})
	high := stalls.Box(g, [3]int{4, 2, 2}, [3]int{2, 8, 8})
	values := stalls.Blank(g).Paint(15, low).Paint(25, middle).Paint(40, high)
	for _, overlap := range []bool{false, true} {
		cfg := segment.DefaultConfig()
		cfg.Overlap = overlap
		got := segmenttest.Find(t, g, cfg, values.Noisy(1, 1))
		var links [][]schema.LinkID
		for _, r := range got {
			links = append(links, r.Links)
		}
		if !slices.EqualFunc(links, [][]schema.LinkID{high, low, middle}, slices.Equal) && !slices.EqualFunc(links, [][]schema.LinkID{high, middle, low}, slices.Equal) {
			t.Errorf("overlap %v: got %s, want %s", overlap, segmenttest.Sizes(got), segmenttest.SizesOf([][]schema.LinkID{high, low, middle}))
		}
	}
}

// A bar of three by two switches has a narrow interior, which three false zeros at its
// surface cut in two: the bar is still one region.
func TestBarOfWhichTheInsideIsCut(t *testing.T) {
	g := stalls.Fabric(t, "torus:40x12x12")
	bar := stalls.Box(g, [3]int{2, 4, 4}, [3]int{36, 3, 2})
	above, corner := stalls.Box(g, [3]int{20, 5, 5}, [3]int{1, 1, 1}), stalls.Box(g, [3]int{20, 6, 5}, [3]int{1, 1, 1})
	for seed := range int64(10) {
		values := stalls.Wavy(g, seed).Add(40, 4, bar, seed+100).Paint(0, above[2:]).Paint(0, corner[1:])
		got := segmenttest.Find(t, g, segment.DefaultConfig(), values)
		if len(got) != 1 || got[0].Size < len(bar)*9/10 {
			t.Errorf("seed %d: got %s, want one of about %d links", seed, segmenttest.Sizes(got), len(bar))
		}
	}
}

// A fabric stalled nearly everywhere is a region, however few links are calm or
// missing.
func TestStalledAllOver(t *testing.T) {
	for _, spec := range []string{"torus:10x10x10", "torus:2x4x4"} { // the second with parallel links
		g := stalls.Fabric(t, spec)
		all := stalls.LinkRange(0, g.NumLinks())
		node, blade := stalls.SwitchLinks(g, 1, 2, 3), slices.Concat(stalls.SwitchLinks(g, 1, 2, 3), stalls.SwitchLinks(g, 1, 2, 2))
		for name, c := range map[string]struct {
			values stalls.Painting
			lost   []schema.LinkID
		}{
			"calm switch":    {stalls.Blank(g).Paint(40, all).Paint(1, node), node},
			"missing switch": {stalls.Blank(g).Paint(40, all).Lose(node), node},
			"missing blade":  {stalls.Blank(g).Paint(40, all).Lose(blade), blade},
			"missing link":   {stalls.Blank(g).Paint(40, all).Lose(all[:1]), all[:1]},
		} {
			got := segmenttest.StepLinks(t, g, segment.DefaultConfig(), c.values)
			if len(got) != 1 || !slices.Equal(got[0], stalls.Without(all, c.lost)) {
				t.Errorf("%s, %s: %s, want one of all other links", spec, name, segmenttest.SizesOf(got))
			}
		}
	}
}
