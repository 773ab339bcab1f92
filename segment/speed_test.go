package segment_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/cputime"
	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/bench"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

func TestStepDoesNotAllocate(t *testing.T) {
	const samples = 2
	for _, name := range []string{"cube", "hard", "prod", "fattree"} {
		set := setNamed(t, name)
		g := stalls.Fabric(t, stalls.Smaller(set.Topology))
		snapshots := segmenttest.Draw(g, set, samples)
		for _, k := range segmenttest.Kinds() {
			t.Run(set.Name+"/"+k.Name, func(t *testing.T) {
				s := segmenttest.NewStepper(t, g, k.Config, snapshots)
				all := func() {
					for range samples {
						s.Segment()
					}
				}
				if n := testing.AllocsPerRun(5, all); n > 0 { // the runtime's own allocations occur in fewer than one run of five
					t.Errorf("%v allocations per %d steps", n, samples)
				}
			})
		}
	}
}

// While regions persist, tracking them allocates nothing either: only reports of births
// and ends allocate text.
func TestFollowingDoesNotAllocate(t *testing.T) {
	for _, name := range []string{"prod", "fattree"} {
		set := setNamed(t, name)
		g := stalls.Fabric(t, stalls.Smaller(set.Topology))
		s := segmenttest.NewStepper(t, g, segment.DefaultConfig(), segmenttest.Draw(g, set, 1))
		for range 60 {
			s.Step()
		}
		if n := testing.AllocsPerRun(20, s.Step); n > 0 {
			t.Errorf("%s: %v allocations per step", name, n)
		}
	}
}

// BenchmarkStep is the cost of an interval: segmentation of both channels, and
// tracking.
func BenchmarkStep(b *testing.B) {
	for _, set := range bench.Sets() {
		g := stalls.Fabric(b, set.Topology)
		benchmarkStep(b, set.Name, g, set, 8)
	}
}

// BenchmarkStep1M is the same on a torus with a million links and the same density of regions.
func BenchmarkStep1M(b *testing.B) {
	const spec = "torus:70x70x70"
	benchmarkStep(b, "cube", stalls.Fabric(b, spec), bench.LargeCube(spec), 3)
}

func benchmarkStep(b *testing.B, name string, g *topology.Graph, set bench.Set, samples int) {
	snapshots := segmenttest.Draw(g, set, samples)
	for _, k := range segmenttest.Kinds() {
		b.Run(fmt.Sprintf("links=%d/%s/%s", g.NumLinks(), name, k.Name), func(b *testing.B) {
			s := segmenttest.NewStepper(b, g, k.Config, snapshots)
			for range samples {
				s.Step()
			}
			b.ReportAllocs()
			began := cputime.Millis(b)
			for b.Loop() {
				s.Step()
			}
			b.ReportMetric((cputime.Millis(b)-began)/float64(b.N), "cpu-ms/op") // not affected by other load
			b.ReportMetric(float64(len(set.Metrics)*g.NumLinks())*float64(b.N)/b.Elapsed().Seconds(), "links/s")
		})
	}
}
