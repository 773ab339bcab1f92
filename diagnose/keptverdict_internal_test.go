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
		s.given.kept = map[uint64]*kept{}
		for id := uint64(9); id > 0; id-- {
			s.given.kept[id] = &kept{root: at, seen: 10, time: 5, because: "it", began: int64(id)}
		}
		d := &schema.Diagnosis{Region: 20, Root: at}
		if h := s.earlierVerdict(d); h.began != 1 {
			t.Fatalf("that of region %d is passed on", h.began)
		}
	}
}
