package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/internal/test/journal"
	"github.com/giverny/giverny/schema"
)

// The brokers answer but take no records, as when too few replicas are in sync, and the process ends meanwhile: the
// intervals that it closed without the readings are completed by the next one.
func TestIntervalsThatClosedBeforeARestartAreCompleted(t *testing.T) {
	for stop := 31 * time.Second; stop < 50*time.Second; stop += 1700 * time.Millisecond {
		t.Run(stop.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, g, b := newRig(), graphOf(t, "f", "torus:4x4x4"), &broker{}
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				for i := range 4 {
					a := &spooler{broker: b, graph: g, name: fmt.Sprintf("n%d", i), share: i, all: 4, perDrain: 1,
						cut: func(since time.Duration) bool { return since > 29500*time.Millisecond && since < 50*time.Second }}
					wg.Go(func() { time.Sleep(time.Duration(1+i) * time.Millisecond); a.run(ctx) })
				}
				began := time.Now()
				runFor(t, stop, r.fabric(t, g, one(&logSource{broker: b})))
				time.Sleep(time.Until(began.Add(55 * time.Second))) // the next process finds all readings in the log
				runFor(t, time.Until(began.Add(120*time.Second)), r.fabric(t, g, one(&logSource{broker: b})))
				cancel()
				wg.Wait()
				checkWhole(t, g, r.store.stored("f"), began, 110)
			})
		})
	}
}

// If readings are always later than allowed_lateness, the state says so and what to set; with that set, all is well.
func TestReadingsThatAreAlwaysLate(t *testing.T) {
	for _, c := range []struct {
		lateness time.Duration
		reason   schema.UnknownReason
		says     string
	}{
		{0, schema.LateReadings, "readings arrive up to 9s after they were taken, and intervals wait for 2s: after a failure of a broker this passes; if it lasts, set allowed_lateness of the fabric to 1"},
		{5 * time.Second, schema.LateReadings, "intervals wait for 5s: after a failure of a broker this passes; if it lasts, set allowed_lateness of the fabric to 1"},
		{11 * time.Second, "", ""},
	} {
		t.Run(c.lateness.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, g, b := newRig(), graphOf(t, "f", "torus:4x4x4"), &broker{}
				a := &spooler{broker: b, graph: g, name: "sweeper", all: 1, perDrain: 20, interval: time.Second, delay: 9 * time.Second}
				cfg := analysis.DefaultConfig()
				cfg.Window.Interval, cfg.Window.ClockLateness, cfg.Segment.MinLinks = time.Second, c.lateness, 4
				f, err := New(g, cfg, Deps{Log: slog.New(slog.DiscardHandler), Metrics: r.metrics, Sources: one(&logSource{broker: b}), Store: r.store})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { a.run(ctx) })
				running.Go(func() { f.Run(ctx) })
				for after := 20 * time.Second; after <= 120*time.Second; after += 10 * time.Second {
					time.Sleep(10 * time.Second)
					if after == 20*time.Second {
						time.Sleep(10 * time.Second)
					}
					reason, says := schema.UnknownReason(""), ""
					if u := f.Status().Unknown; u != nil {
						reason, says = u.Reason, u.Explained()
					}
					if c.reason != "" && !regexp.MustCompile("; [1-9][0-9]* readings were dropped as late$").MatchString(says) {
						t.Errorf("after %v: %q, want how many readings were late", after, says)
					}
					if reason != c.reason || !strings.Contains(says, c.says) || (f.Ready(ctx) == nil) != (c.reason == "") {
						t.Errorf("after %v: %q, %q, ready: %v", after, reason, says, f.Ready(ctx))
					}
				}
				cancel()
				running.Wait()
			})
		})
	}
}

// One agent is always late: the analyser goes back more and more rarely, at most every quarter of complete_within, and the
// log has the first few times and one line that says what that costs, not a line each time.
func TestCompletionsThatRecurAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g, b := newRig(), graphOf(t, "f", "torus:4x4x4"), &broker{}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 4 {
			a := &spooler{broker: b, graph: g, name: fmt.Sprintf("n%d", i), share: i, all: 4, perDrain: 20}
			if i == 3 {
				a.delay = 9 * time.Second
			}
			wg.Go(func() { a.run(ctx) })
		}
		cfg, log := analysis.DefaultConfig(), &journal.Journal{}
		cfg.Window.Interval, cfg.Segment.MinLinks, cfg.CompleteWithin = time.Second, 4, 4*time.Minute
		cfg.Window.MaxSkew = time.Minute // the delay is not a clock that is behind
		f, err := New(g, cfg, Deps{Log: slog.New(slog.NewTextHandler(log, nil)), Metrics: r.metrics, Sources: one(&logSource{broker: b}), Store: r.store})
		if err != nil {
			t.Fatal(err)
		}
		runFor(t, 15*time.Minute, f)
		cancel()
		wg.Wait()
		rewinds := testutil.ToFloat64(r.metrics.rewinds.WithLabelValues("f"))
		if rewinds < 8 || rewinds > 18 {
			t.Errorf("%v rewinds in 15 minutes, want about one a minute", rewinds)
		}
		text := log.String()
		for says, want := range map[string][2]int{"going back to complete": {1, 5}, "late again and again": {1, 1}, "resuming after": {1, 6}, "it will be completed": {1, 6}} {
			if n := strings.Count(text, says); n < want[0] || n > want[1] {
				t.Errorf("%q is in the log %d times, want %v", says, n, want)
			}
		}
	})
}

// slow is a follower that takes an hour for a result.
type slow struct{ follower }

func (s *slow) Put(ctx context.Context, _ *schema.IntervalResult) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Hour):
		return nil
	}
}

// While a sink has much to catch up with, intervals are still completed, and the analysis goes on.
func TestASlowSinkHoldsUpNoCompletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g, b := newRig(), graphOf(t, "f", "torus:4x4x4"), &broker{}
		ctx, cancel := context.WithCancel(t.Context())
		a := &spooler{broker: b, graph: g, name: "n", all: 1, perDrain: 20, interval: time.Second}
		a.cut = func(since time.Duration) bool { return since > 20*time.Second && since < 29*time.Second }
		var agents sync.WaitGroup
		agents.Go(func() { a.run(ctx) })
		runFor(t, 100*time.Second, r.fabric(t, g, one(&logSource{broker: b}), &slow{follower{sink{name: "slow"}}}))
		cancel()
		agents.Wait()
		rewinds := testutil.ToFloat64(r.metrics.rewinds.WithLabelValues("f"))
		if stored := r.store.stored("f"); rewinds == 0 || len(stored) < 90 || len(broken(g, stored)) > 0 {
			t.Errorf("%v rewinds, %d intervals, %d of them not whole", rewinds, len(stored), len(broken(g, stored)))
		}
	})
}

// A replayed day replaces a broken one, as often as it is replayed.
func TestReplacingStoresANewerRevision(t *testing.T) {
	m := newMemory()
	g := graphOf(t, "f", "torus:4x4x4")
	if err := m.StoreGraph(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	for want := range uint32(3) {
		r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "f", GraphVersion: g.Version(), Samples: int(want), Interval: schema.Interval{StartNanos: 5 * second, DurationNanos: second}}}
		if err := Replacing(WithoutHistory(m)).Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if got := m.stored("f"); len(got) != 1 || got[0].Revision != want || got[0].Snapshot.Samples != int(want) {
			t.Errorf("replay %d: %+v", want, got)
		}
	}
	m.breaks("f", errors.New("away"))
	if err := Replacing(m).Put(t.Context(), &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "f", GraphVersion: g.Version()}}); err == nil {
		t.Error("a result that the store did not take counts as stored")
	}
}
