package diagnose

import (
	"math"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestALoadIsFlat: a link's load is flat if it is the same in all known intervals since the onset, and these are
// enough.
func TestALoadIsFlat(t *testing.T) {
	steady := []uint8{31, 31, 32, 31, 31, 31}
	for _, c := range []struct {
		name    string
		carries []uint8 // since the onset, in levels
		isFlat  bool
	}{
		{name: "the same", carries: steady, isFlat: true},
		{name: "a reading is lost", carries: []uint8{31, 31, history.LevelMissing, 31, 31, 31}, isFlat: true},
		{name: "varies", carries: []uint8{28, 31, 34, 31, 27, 31}},
		{name: "not long enough", carries: steady[:3]},
	} {
		s, err := New(roottest.Graph(t, "torus:4x4"), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.history.Clock = history.Clock{Duration: 60e9, Now: 20}
		use := s.history.Track(schema.BandwidthUsed)
		for i, v := range c.carries {
			use.Row(20 - int64(len(c.carries)-1-i))[7] = v
		}
		rc := &regionCase{in: &s.interval, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 20), onset: 20 - len(c.carries) - 1}}
		if got := rc.isFlat(7); got != c.isFlat {
			t.Errorf("%s: flat %v, want %v", c.name, got, c.isFlat)
		}
	}
}

// TestWhatWasUsualIsCalm: the load now is compared with the last intervals before the onset in which the region did not
// stall as it does now; with pauses only if nothing before them is remembered.
func TestWhatWasUsualIsCalm(t *testing.T) {
	calm, congested := func(n int) []float64 { return slices.Repeat([]float64{1}, n) }, func(n int) []float64 { return slices.Repeat([]float64{40}, n) }
	for _, c := range []struct {
		name  string
		stall []float64
		want  []int // indices into stall, the last first
	}{
		{"the first time", slices.Concat(calm(20), congested(2)), []int{17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6}},
		{"again after a pause", slices.Concat(calm(6), congested(10), calm(4), congested(3)), []int{3, 2, 1, 0}},
		{"a second time", slices.Concat(calm(6), congested(6), calm(8), congested(3)), []int{17, 16, 15, 14, 13, 12, 5, 4, 3, 2, 1, 0}},
		{"for longer than is known, in phases", slices.Concat(congested(6), calm(4), congested(6), calm(4), congested(3)), []int{17, 16, 9, 8, 7, 6}},
		{"for as long as is known", congested(22), nil},
		{"no reading", slices.Concat(calm(4), []float64{math.NaN()}, calm(2), congested(3)), []int{4, 3, 2, 1, 0}},
	} {
		s, err := New(roottest.Graph(t, "torus:4x4"), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.history.Clock = history.Clock{Duration: 60e9, First: 1, Now: 100}
		got, first := (&regionCase{in: &s.interval, timeline: timeline{clock: s.history.Clock, stall: c.stall, onset: onsetOf(c.stall, shortPause)}}).timeline.baseline(), 101-len(c.stall)
		var want []int64
		for _, i := range c.want {
			want = append(want, int64(first+i))
		}
		if !slices.Equal(got.At[:got.N], want) {
			t.Errorf("%s: %v, want %v", c.name, got.At[:got.N], want)
		}
	}
}

// TestNoBeginningWithoutABefore: on trees a region that rises within the first intervals has no onset, as there is
// nothing to compare it with; when it rose is known, for comparison with failures.
func TestNoBeginningWithoutABefore(t *testing.T) {
	const now = 12
	for _, c := range []struct {
		fabric      string
		rises       int
		onset, rose int
	}{
		{"fattree:leaves=2,hosts=2,spines=1", 6, 6, 6},
		{"fattree:leaves=2,hosts=2,spines=1", 2, -1, 2},
		{"torus:4x4", 2, 2, 2},
	} {
		g := roottest.Graph(t, c.fabric)
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.history.Clock = history.Clock{Duration: 60e9, Now: now}
		levels := s.history.Track(schema.CreditStall)
		for slot := range int64(now + 1) {
			levels.Row(slot)[0] = history.LevelOf(1)
			if slot >= int64(c.rises) {
				levels.Row(slot)[0] = history.LevelOf(40)
			}
		}
		var rc regionCase
		s.begin(&rc, &schema.Snapshot{Links: g.NumLinks()}, &schema.Region{Metric: schema.CreditStall, Links: []schema.LinkID{0}})
		if rc.timeline.onset != c.onset || rc.timeline.burst != c.rose {
			t.Errorf("%s, rises in interval %d: began in %d, rose in %d", c.fabric, c.rises, rc.timeline.onset, rc.timeline.burst)
		}
	}
}

// TestALostLoadAtTheOnset: in the interval of an onset, a lost reading of a load is filled with one from before the
// onset, which shows nothing.
func TestALostLoadAtTheOnset(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=2,spines=1")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.history.Clock = history.Clock{Duration: 60e9, Now: 9}
	use := s.history.Track(schema.BandwidthUsed)
	row := use.Row(9)
	clear(row)
	row[1] = history.LevelMissing
	for onset, want := range map[int]bool{9: true, 8: false} {
		rc := &regionCase{in: &s.interval, region: &schema.Region{}, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 10), onset: onset, burst: onset}}
		stale := rc.past().Stale
		if got := stale != nil && stale(1); got != want || stale != nil && stale(0) {
			t.Errorf("onset %d: the lost load is from before: %v, want %v", onset, got, want)
		}
	}
}

// TestAConstantLoadSinceTheOnset: a link that lost rate carries the same since, also between the bursts of its region, so
// that the last burst need not be long ago.
func TestAConstantLoadSinceTheOnset(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=2,spines=1")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.history.Clock = history.Clock{Duration: 60e9, Now: 19}
	use := s.history.Track(schema.BandwidthUsed)
	for slot := range int64(20) {
		row := use.Row(slot)
		clear(row)
		if row[0], row[1] = 100, uint8(60+slot%3*30); slot >= 10 {
			row[0] = 60
		}
	}
	for _, burst := range []int{10, 18} {
		rc := &regionCase{in: &s.interval, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 20), onset: 10, burst: burst}}
		if !rc.isFlat(0) || rc.isFlat(1) {
			t.Errorf("last burst at %d: constant %v, and of another link %v", burst, rc.isFlat(0), rc.isFlat(1))
		}
	}
}
