package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestARegionSwells: a region swells if it stalls clearly more than ever before since the kept verdict on it, unless
// that was given while it first rose.
func TestARegionSwells(t *testing.T) {
	for _, c := range []struct {
		name  string
		stall []float64 // from slot 0 on; the onset is in slot 3
		given int64     // slot of the kept verdict
		want  bool
	}{
		{"a second step", []float64{0, 0, 0, 20, 20, 20, 20, 20, 45}, 7, true},
		{"it still rises", []float64{0, 0, 0, 5, 20, 45}, 3, false},
		{"back from a dip to what it was", []float64{0, 0, 0, 45, 45, 40, 12, 45}, 6, false},
	} {
		now := int64(len(c.stall) - 1)
		s := &Stage{interval: interval{history: remembersAt(roottest.Graph(t, "torus:4x4"), history.Clock{Duration: 60e9, Now: now})}}
		rc, h := &regionCase{in: &s.interval, timeline: timeline{clock: s.history.Clock, stall: c.stall}}, &kept{time: schema.Instant(c.given * 60e9), began: 3}
		if got := rc.hasSecondStep(h); got != c.want {
			t.Errorf("%s: hasSecondStep %v, want %v", c.name, got, c.want)
		}
	}
}

// TestEarlyTrafficIsForgottenFirst: traffic that the stall followed long after leaves the window before the onset does,
// and the verdict that it gave is kept from then on.
func TestEarlyTrafficIsForgottenFirst(t *testing.T) {
	const onset, now = 30, 45
	s := &Stage{interval: interval{cfg: DefaultConfig(), history: remembersAt(roottest.Graph(t, "torus:4x4"), history.Clock{Duration: 60e9, Now: now})}}
	for lag, want := range map[float64]bool{0: false, 12 * 60: false, 13 * 60: true} {
		h := &kept{began: onset, jobs: []schema.AccusedJob{{JobID: "1", LagSeconds: lag}}}
		if got := s.forgot(h); got != want {
			t.Errorf("traffic %g s before the onset is forgotten %v, want %v", lag, got, want)
		}
	}
}

// TestEqualVerdictsAreKeptInOrder: of two kept verdicts of the same time and reason, that on the region with the lesser
// number is passed on, whatever the order in memory.
func TestEqualVerdictsAreKeptInOrder(t *testing.T) {
	s, err := New(roottest.Graph(t, "torus:4x4x4"), DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.history.Clock = history.Clock{Duration: 60e9, Now: 10}
	at := &schema.Root{Device: "1,1,1", Port: "X+"}
	for range 50 {
		s.earlier.kept = map[uint64]*kept{}
		for id := uint64(9); id > 0; id-- {
			s.earlier.kept[id] = &kept{root: at, seen: 10, time: 5, because: "it", began: int64(id)}
		}
		d := &schema.Diagnosis{Region: 20, Root: at}
		if h := s.earlierVerdict(d); h.began != 1 {
			t.Fatalf("that of region %d is passed on", h.began)
		}
	}
}

// TestACableThatCameBackSlower: a verdict on a cable falls when the cable comes back, but not one that was given after
// that on a link that carries less since. A restart forgets neither.
func TestACableThatCameBackSlower(t *testing.T) {
	g := roottest.Graph(t, "torus:4x4x4")
	minute := func(m int) schema.Instant { return schema.Instant(m) * 60e9 }
	for _, c := range []struct {
		name   string
		given  int // minute of the verdict; the cable came back in minute 5
		slower bool
		stands bool
	}{
		{"given before", 4, true, false},
		{"given after, the link was down", 8, false, false},
		{"given after, the link lost a lane", 8, true, true},
	} {
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.history.Clock = history.Clock{Duration: 60e9, Now: 10}
		failed := schema.Failure{Time: minute(3), Kind: schema.LinkFailed, Device: "1,1,1", Port: "X+"}
		back := schema.Failure{Time: minute(5), Kind: schema.LinkRestored, Device: "2,1,1", Port: "X-"}
		s.history.AddFailures([]schema.Failure{failed, back})
		s.earlier.kept = map[uint64]*kept{7: {time: minute(c.given), failures: []schema.NearFailure{{Time: failed.Time, Kind: failed.Kind, Device: failed.Device, Port: failed.Port}}, seen: 10, slower: c.slower}}
		restarted, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		if err := restarted.Load(s.Save()); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Stage{s, restarted} {
			if got := (&regionCase{in: &s.interval, timeline: timeline{clock: s.history.Clock}}).stands(s.earlier.kept[7]); got != c.stands {
				t.Errorf("%s: stands %v, want %v", c.name, got, c.stands)
			}
		}
	}
}

// TestARegionSettlesAfterAFailure: a region that always stalled stalls more after a failure until routes are
// recomputed; one that still stalls more, or that had not stalled, waits for it.
func TestARegionSettlesAfterAFailure(t *testing.T) {
	for name, c := range map[string]struct {
		before, after, now float64
		onset              int
		settled            bool
	}{
		"as before":           {10, 50, 10, -1, true},
		"still more":          {10, 50, 30, -1, false},
		"not there before it": {0, 50, 10, 8, false},
	} {
		s, err := New(roottest.Graph(t, "torus:4x4x4"), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.history.Clock = history.Clock{Duration: 60e9, Now: 10}
		b, a := c.before, c.after
		rc := &regionCase{in: &s.interval, timeline: timeline{clock: s.history.Clock, stall: []float64{b, b, b, b, b, b, b, b, a, a, c.now}, onset: c.onset, old: c.onset < 0}}
		if got := rc.settledSince(schema.NearFailure{Time: 8 * 60e9}); got != c.settled {
			t.Errorf("%s: settled %v, want %v", name, got, c.settled)
		}
	}
}

// TestASuspectedCableThatCarries: a verdict on a cable that was suspected to be dead falls when that carries something;
// a logged failure is over when a log says so.
func TestASuspectedCableThatCarries(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=2,spines=2")
	at := g.PortKey(roottest.Link(t, g, "leaf0>spine1"))
	for _, c := range []struct {
		kind   schema.EventKind
		carry  string
		stands bool
	}{
		{schema.LinkDownSuspected, "spine1>leaf0", false},
		{schema.LinkDownSuspected, "spine0>leaf0", true},
		{schema.LinkFailed, "spine1>leaf0", true},
	} {
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		snap, _ := roottest.Snapshot(t, g, nil, map[string]float64{c.carry: 10})
		snap.Interval = schema.Interval{DurationNanos: 60e9}
		s.history.Learn(&schema.IntervalResult{Snapshot: snap}, nil)
		h := &kept{failures: []schema.NearFailure{{Kind: c.kind, Device: at.Device, Port: at.Port}}}
		if got := (&regionCase{in: &s.interval, timeline: timeline{clock: s.history.Clock}}).stands(h); got != c.stands {
			t.Errorf("%s while %s carries something: stands %v", c.kind, c.carry, got)
		}
	}
}
