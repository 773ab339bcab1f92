package merging_test

import (
	"math/rand"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
)

// A congestion tree with random stall per row, or per link, is one region, except for rows that are too small and calm.
func TestUnevenTreeIsOneRegion(t *testing.T) {
	g := stalls.Fabric(t, "torus:12x12x12")
	column, rows := stalls.GridTree(g, [3]int{5, 6, 7}, 4)
	for seed := range int64(40) {
		rng := rand.New(rand.NewSource(seed))
		values := stalls.Wavy(g, seed).Add(85, 8, column, seed+100)
		want := len(column)
		for i, row := range rows {
			values.Add(float32(35+60*rng.Float64()), 12, row, 100*seed+int64(i))
			want += len(row)
		}
		got := segmenttest.Find(t, g, segment.DefaultConfig(), values)
		if len(got) != 1 || got[0].Size < want*3/4 || got[0].Size > want*11/10 {
			t.Errorf("seed %d: got %s, want one of %d links", seed, segmenttest.Sizes(got), want)
		}
	}
}

// A small congestion tree with random stall per link, no piece of which is large enough for a region, is one region.
func TestFragmentedTreeIsOneRegion(t *testing.T) {
	g := stalls.Fabric(t, "torus:12x12x12")
	column, rows := stalls.GridTree(g, [3]int{5, 6, 7}, 3)
	for seed := range int64(40) {
		rng := rand.New(rand.NewSource(seed))
		values, want := stalls.Wavy(g, seed), 0
		for _, links := range append(rows, column) {
			for _, l := range links {
				values.Add(float32(20+70*rng.Float64()), 0, []schema.LinkID{l}, 0)
				want++
			}
		}
		got := segmenttest.Find(t, g, segment.DefaultConfig(), values)
		if len(got) != 1 || got[0].Size < want*3/4 || got[0].Size > want*11/10 {
			t.Errorf("seed %d: got %s, want one of %d links", seed, segmenttest.Sizes(got), want)
		}
	}
}

// Two combs as thin as trees, each even, are two regions, even on a quiet fabric where they are more uneven than
// the noise of its calm links: their difference is a boundary.
func TestEvenRowsStayApart(t *testing.T) {
	g := stalls.Fabric(t, "torus:14x14x14")
	low, high := stalls.Box(g, [3]int{2, 5, 5}, [3]int{9, 1, 1}), stalls.Box(g, [3]int{11, 5, 5}, [3]int{1, 9, 1})
	for seed := range int64(10) {
		for about, values := range map[string]stalls.Painting{"quiet": stalls.Blank(g).Noisy(.1, seed), "noisy": stalls.Wavy(g, seed)} {
			got := segmenttest.Find(t, g, segment.DefaultConfig(), values.Add(20, 1.5, low, seed+100).Add(45, 1.5, high, seed+200))
			if len(got) != 2 {
				t.Errorf("%s, seed %d: got %s, want two", about, seed, segmenttest.Sizes(got))
			}
		}
	}
}
