package segment

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/cputime"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/bench"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/topology"
)

// stepper steps a segmenter and a tracker behind it through snapshots, round and
// round, minute by minute.
type stepper struct {
	segmenter *Segmenter
	tracker   *tracking.Tracker
	snapshots []*schema.Snapshot
	interval  schema.Interval
	next      int
}

func newStepper(t testing.TB, g *topology.Graph, cfg Config, snapshots []*schema.Snapshot) *stepper {
	t.Helper()
	tracker, err := tracking.New(g, tracking.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return &stepper{segmenter: newSegmenter(t, g, cfg), tracker: tracker, snapshots: snapshots, interval: schema.Interval{DurationNanos: 60e9}}
}

func (s *stepper) segment() []schema.Region {
	snap := s.snapshots[s.next]
	s.next = (s.next + 1) % len(s.snapshots)
	return s.segmenter.Step(snap)
}

func (s *stepper) step() {
	s.tracker.Step(s.interval, s.segment())
	s.interval = s.interval.Next()
}

func draw(g *topology.Graph, set bench.Set, n int) []*schema.Snapshot {
	var out []*schema.Snapshot
	for seed := range int64(n) {
		out = append(out, set.Sample(g, seed).Snapshot)
	}
	return out
}

func TestStepDoesNotAllocate(t *testing.T) {
	const samples = 2
	for _, name := range []string{"cube", "hard", "prod", "fattree"} {
		set := setNamed(t, name)
		g := parse(t, smaller(set))
		snapshots := draw(g, set, samples)
		for _, k := range kinds() {
			t.Run(set.Name+"/"+k.name, func(t *testing.T) {
				s := newStepper(t, g, k.cfg, snapshots)
				all := func() {
					for range samples {
						s.segment()
					}
				}
				if n := testing.AllocsPerRun(5, all); n > 0 { // the runtime's own is in fewer than one run of five
					t.Errorf("%v allocations per %d steps", n, samples)
				}
			})
		}
	}
}

// While regions stay, following them costs no allocation either: only what is to
// be reported of them, births and ends, is made of text.
func TestFollowingDoesNotAllocate(t *testing.T) {
	for _, name := range []string{"prod", "fattree"} {
		set := setNamed(t, name)
		g := parse(t, smaller(set))
		s := newStepper(t, g, DefaultConfig(), draw(g, set, 1))
		for range 60 {
			s.step()
		}
		if n := testing.AllocsPerRun(20, s.step); n > 0 {
			t.Errorf("%s: %v allocations per step", name, n)
		}
	}
}

// BenchmarkStep is what an interval costs: segmentation of both channels, and
// tracking.
func BenchmarkStep(b *testing.B) {
	for _, set := range bench.Sets() {
		g := parse(b, set.Topology)
		benchmarkStep(b, set.Name, g, set, 8)
	}
}

// BenchmarkStep1M is the same on a torus of a million links, regions as dense.
func BenchmarkStep1M(b *testing.B) {
	const spec = "torus:70x70x70"
	benchmarkStep(b, "cube", parse(b, spec), bench.LargeCube(spec), 3)
}

func benchmarkStep(b *testing.B, name string, g *topology.Graph, set bench.Set, samples int) {
	snapshots := draw(g, set, samples)
	for _, k := range kinds() {
		b.Run(fmt.Sprintf("links=%d/%s/%s", g.NumLinks(), name, k.name), func(b *testing.B) {
			s := newStepper(b, g, k.cfg, snapshots)
			for range samples {
				s.step()
			}
			b.ReportAllocs()
			began := cputime.Millis(b)
			for b.Loop() {
				s.step()
			}
			b.ReportMetric((cputime.Millis(b)-began)/float64(b.N), "cpu-ms/op") // what other load does not blur
			b.ReportMetric(float64(len(set.Metrics)*g.NumLinks())*float64(b.N)/b.Elapsed().Seconds(), "links/s")
		})
	}
}
