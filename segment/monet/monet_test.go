package monet_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
)

func TestPaperIsTheDefinition(t *testing.T) {
	for _, spec := range []string{"torus:5x4x6", "torus:2x3x4", "mesh:6x7", "torus:20", "fattree:leaves=4,hosts=3,spines=3",
		"fattree:k=4", "dragonfly:groups=5,routers=2,hosts=2"} {
		g := stalls.Fabric(t, spec)
		for distance := 1; distance <= 4; distance++ {
			t.Run(fmt.Sprintf("%s/%d", spec, distance), func(t *testing.T) {
				cfg := segmenttest.Paper()
				cfg.Paper.Distance = distance
				cfg.MinLinks = 4
				twin := newNaive(g, cfg)
				rng := rand.New(rand.NewSource(int64(distance)))
				for range 10 {
					values := stalls.PatchyValues(rng, g)
					got := segmenttest.StepLinks(t, g, cfg, values)
					want := twin.regions(values)
					segmenttest.SortRegions(got)
					segmenttest.SortRegions(want)
					if !slices.EqualFunc(got, want, slices.Equal[[]schema.LinkID]) {
						t.Fatalf("got %v\nwant %v\nvalues %v", got, want, values)
					}
				}
			})
		}
	}
}

// A region across the wraparound is one region.
func TestPaperWrapsAround(t *testing.T) {
	g := stalls.Fabric(t, "torus:8x8x8")
	values := make([]float32, g.NumLinks())
	want := 0
	for _, z := range []int{7, 0} {
		for _, y := range []int{7, 0} {
			for _, x := range []int{7, 0} {
				for dim := range 3 {
					values[dim+3*(x+8*(y+8*z))] = 30
					want++
				}
			}
		}
	}
	s, err := segment.New(g, segmenttest.Paper())
	if err != nil {
		t.Fatal(err)
	}
	regions := s.Step(stalls.Snapshot(map[schema.Metric][]float32{schema.InqStall: values}))
	if len(regions) != 1 || regions[0].Size != want || regions[0].Mean != 30 || regions[0].Severity != schema.High {
		t.Fatalf("got %+v, want one region of %d links at 30", regions, want)
	}
	// Links leave the switches at 7 and 0 in + direction, so they reach 1.
	if b := regions[0].Box; !slices.Equal(b.Min, []int{7, 7, 7}) || !slices.Equal(b.Max, []int{1, 1, 1}) {
		t.Errorf("box %v, want 7..1 in each dimension", *b)
	}
}
