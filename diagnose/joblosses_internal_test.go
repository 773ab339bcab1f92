package diagnose

import (
	"math"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// A job's loss is the decrease since an onset from its least traffic over as long before, at the onset and still.
func TestLossSinceAnOnset(t *testing.T) {
	const onset = 20
	repeat := func(n int, values ...float64) (out []float64) {
		for len(out) < n {
			out = append(out, values...)
		}
		return slices.Clip(out[:n])
	}
	steady := repeat(onset+1, 10)
	for _, c := range []struct {
		name  string
		moved []float64 // by interval, from the first
		want  float64
	}{
		{"held up", append(steady, repeat(9, 4)...), .6},
		{"held up, in the second interval", append(steady, 4), .6},
		{"as ever", append(steady, repeat(9, 10)...), 0},
		{"moves more", append(steady, repeat(9, 30)...), 0},
		{"in phases, as before", repeat(30, 10, 1, 4), 0},
		{"in phases, of which each is held up: as little as where the shortest come first", append(repeat(onset+1, 10, 2), repeat(9, 5, 1)...), .21},
		{"a phase ends later", append(steady, 10, 10, 10, 10, 1, 1, 1, 1, 1), 0},
		{"a phase ends, and the next begins", append(steady, 1, 1, 1, 10, 10, 10, 10, 10, 10, 10, 10, 10), 0},
		{"rows that lack what it moves most", append(steady, math.NaN(), 10, math.NaN()), 0},
		{"it moved nothing before", append(repeat(onset+1, 0), repeat(9, 0)...), 0},
	} {
		s := &Stage{interval: interval{cfg: DefaultConfig(), history: remembersAt(roottest.Graph(t, "torus:4x4"), history.Clock{Duration: 60e9, Now: int64(len(c.moved)) - 1})}}
		j := &job{Job: &history.Job{}}
		ring := s.history.TrafficOf(j.Job)
		for slot, bytes := range c.moved {
			ring.Set(history.Read, int64(slot), 0)
			ring.Set(history.RDMAWrite, int64(slot), bytes)
		}
		if got := s.lossSince(j, onset); got.measured != (c.moved[0] > 0) || math.Abs(got.share-c.want) > .02 {
			t.Errorf("%s: %.2f, want %.2f", c.name, got.share, c.want)
		}
	}
	s := &Stage{interval: interval{cfg: DefaultConfig(), history: remembersAt(roottest.Graph(t, "torus:4x4"), history.Clock{Duration: 60e9, Now: 6})}}
	j := &job{Job: &history.Job{}}
	ring := s.history.TrafficOf(j.Job)
	for slot, bytes := range []float64{10, 10, 10, 10, 2, 2, 2} {
		ring.Set(history.RDMAWrite, int64(slot), bytes)
	}
	if got := s.lossSince(j, 3); got.share != 0 || got.measured {
		t.Errorf("%.2f, and what is usual is hardly known", got.share)
	}
	if before := []float64{5, 4, 3, 4, 5}; below(leastMean(before, 1), []float64{3}) != 0 || below(leastMean(before, 3), slices.Repeat([]float64{2}, 3)) < .4 {
		t.Error("not the least mean of as many in a row")
	}
}

// With directed links a region holds up jobs whose exchange crosses it or its root, on a torus all jobs around it.
func TestWhoLosesByARegion(t *testing.T) {
	beside, across, atRoot, far := suspect{hops: 1}, suspect{hops: -1, cross: .1}, suspect{hops: -1, atRoot: true}, suspect{hops: -1}
	for fabric, want := range map[string][4]bool{
		"fattree:leaves=2,hosts=2,spines=1": {false, true, true, false},
		"torus:4x4":                         {true, true, false, false},
	} {
		s, err := New(roottest.Graph(t, fabric), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range []*suspect{&beside, &across, &atRoot, &far} {
			if got := (&regionCase{in: &s.interval, region: &schema.Region{}}).rules().canHoldUp(c); got != want[i] {
				t.Errorf("%s: suspect %d: %v", fabric, i, got)
			}
		}
	}
}

// What a job lost that another region of the interval before is blamed on is no sign that this region held it up.
func TestACulpritIsNoVictim(t *testing.T) {
	for name, c := range map[string]struct {
		region uint64
		seen   int64
		want   float64
	}{
		"of another region": {2, 19, 0},
		"of this region":    {1, 19, .6},
		"long ago":          {2, 10, .6},
	} {
		s, err := New(roottest.Graph(t, "fattree:leaves=2,hosts=2,spines=1"), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.history = remembersAt(s.graph, history.Clock{Duration: 60e9, Now: 20})
		s.earlier.kept[c.region] = &kept{seen: c.seen, jobs: []schema.AccusedJob{{JobID: "lost"}}}
		j := &job{Job: &history.Job{Job: schema.Job{ID: "lost"}, Traffic: &history.Traffic{}}, lost: loss{cached: true, onset: 15, share: .6}}
		rc := &regionCase{in: &s.interval, region: &schema.Region{ID: 1}, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 21), onset: 15}, suspects: []suspect{{job: j, cross: 1}}}
		if got := rc.mostLost(&job{Job: &history.Job{}}); got != c.want {
			t.Errorf("the culprit %s lost %g, want %g", name, got, c.want)
		}
	}
}
