package segmenttest

import (
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/bench"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/topology"
)

// Stepper runs a segmenter and a tracker through snapshots, cyclically, minute by
// minute.
type Stepper struct {
	segmenter *segment.Segmenter
	tracker   *tracking.Tracker
	Snapshots []*schema.Snapshot
	interval  schema.Interval
	next      int
}

// NewStepper returns a stepper that starts with the first snapshot.
func NewStepper(t testing.TB, g *topology.Graph, cfg segment.Config, snapshots []*schema.Snapshot) *Stepper {
	t.Helper()
	tracker, err := tracking.New(g, tracking.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return &Stepper{segmenter: New(t, g, cfg), tracker: tracker, Snapshots: snapshots, interval: schema.Interval{DurationNanos: 60e9}}
}

// Segment segments the next snapshot.
func (s *Stepper) Segment() []schema.Region {
	snap := s.Snapshots[s.next]
	s.next = (s.next + 1) % len(s.Snapshots)
	return s.segmenter.Step(snap)
}

// Step segments and tracks the next snapshot.
func (s *Stepper) Step() {
	s.tracker.Step(s.interval, s.Segment())
	s.interval = s.interval.Next()
}

// Draw draws the first n samples of a set.
func Draw(g *topology.Graph, set bench.Set, n int) []*schema.Snapshot {
	var out []*schema.Snapshot
	for seed := range int64(n) {
		out = append(out, set.Sample(g, seed).Snapshot)
	}
	return out
}

// DirectedGraph returns the fabric of a set.
func DirectedGraph(t testing.TB, set bench.Set) *topology.Graph {
	t.Helper()
	g, err := set.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}
