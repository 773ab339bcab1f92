package record_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
)

// store accepts rows, unless it is unavailable.
type store struct {
	mu   sync.Mutex
	away bool
	rows map[string][]string // targets by fabric
}

func (s *store) StoreFeedback(_ context.Context, fabric string, actions []schema.FeedbackAction) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return errors.New("away")
	}
	for _, a := range actions {
		s.rows[fabric] = append(s.rows[fabric], a.Sink+" "+a.Target+" "+string(a.Outcome))
	}
	return nil
}

func (s *store) set(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

func (s *store) of(fabric string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rows[fabric])
}

type bench struct {
	*record.Recorder
	store    *store
	trail    *record.Trail
	registry *prometheus.Registry
	log      bytes.Buffer
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{store: &store{rows: map[string][]string{}}, registry: prometheus.NewPedanticRegistry()}
	m, err := record.NewMetrics(b.registry)
	if err != nil {
		t.Fatal(err)
	}
	b.trail = record.NewTrail(b.store, m)
	b.Recorder = record.New("slurm", []string{"unknown_node", "limit"}, m, b.trail, slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelInfo})))
	return b
}

func (b *bench) want(t *testing.T, name, lines string) {
	t.Helper()
	if err := testutil.GatherAndCompare(b.registry, strings.NewReader(lines+"\n"), name); err != nil {
		t.Error(err)
	}
}

// Every reason starts at zero; refusals are counted, logged and audited.
func TestRefusalsAreCountedLoggedAndAudited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		const head = "# HELP giverny_feedback_refused_total Changes refused and deliveries dropped, by reason.\n# TYPE giverny_feedback_refused_total counter\n"
		b.want(t, "giverny_feedback_refused_total", head+`giverny_feedback_refused_total{reason="limit",sink="slurm"} 0
giverny_feedback_refused_total{reason="unknown_node",sink="slurm"} 0`)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.trail.Run(ctx) }()
		b.Refused("unknown_node", schema.FeedbackAction{Action: "mark", Target: "n7", Fabric: "ib0", Reason: "why\nnot"})
		b.Dropped("limit", 3)
		b.Acted(schema.FeedbackAction{Action: "mark", Target: "n8", Fabric: "ib1", Outcome: schema.FeedbackDone, DryRun: true})
		b.want(t, "giverny_feedback_refused_total", head+`giverny_feedback_refused_total{reason="limit",sink="slurm"} 3
giverny_feedback_refused_total{reason="unknown_node",sink="slurm"} 1`)
		b.want(t, "giverny_feedback_actions_total", `# HELP giverny_feedback_actions_total Actions of feedback that were done, would have been done (dry_run) or were refused.
# TYPE giverny_feedback_actions_total counter
giverny_feedback_actions_total{action="mark",dry_run="false",outcome="refused",sink="slurm"} 1
giverny_feedback_actions_total{action="mark",dry_run="true",outcome="done",sink="slurm"} 1`)
		b.Acted(schema.FeedbackAction{Action: "mark", Target: "n9", Fabric: "ib1", Outcome: schema.FeedbackFailed})
		for _, text := range []string{"level=INFO", "level=WARN msg=\"feedback: action\" sink=slurm action=mark target=n9", "target=n7", `reason="unknown_node: why\nnot"`, "target=n8", "dry_run=true"} {
			if !strings.Contains(b.log.String(), text) {
				t.Errorf("the log has no %s: %s", text, b.log.String())
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := b.store.of("ib0"); !slices.Equal(got, []string{"slurm n7 refused"}) {
			t.Errorf("ib0 %v", got)
		}
		if got := b.store.of("ib1"); !slices.Equal(got, []string{"slurm n8 done", "slurm n9 failed"}) {
			t.Errorf("ib1 %v", got)
		}
	})
}

// A partial failure is counted each time and logged once; the sink stays up.
func TestAFailingPartIsLoggedOnce(t *testing.T) {
	b := newBench(t)
	for range 3 {
		b.Impaired(errors.New("no answer from b:9093"))
		b.Worked()
	}
	for range 2 {
		b.Impaired(nil)
	}
	if n := metric.Sum(t, b.registry, "giverny_feedback_faults_total"); n != 3 {
		t.Errorf("%g faults, want 3", n)
	}
	log := b.log.String()
	if strings.Count(log, "part of the sink failed") != 1 || !strings.Contains(log, "b:9093") || strings.Count(log, "work again") != 1 {
		t.Errorf("the log says %s", log)
	}
	if state := b.State(); state != "" {
		t.Errorf("health says %q", state)
	}
}

// An unavailable store delays the audit without blocking actions: no row below the limit is lost, those above are
// counted, and the order of a fabric's rows is kept.
func TestTheAuditWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.store.set(true)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.trail.Run(ctx) }()
		for i := range 10_005 {
			b.Acted(schema.FeedbackAction{Action: "mark", Target: string(rune('a' + i%26)), Fabric: "ib0", Outcome: schema.FeedbackDone})
			if i == 100 {
				time.Sleep(2500 * time.Millisecond) // tried and kept
			}
		}
		if got := b.store.of("ib0"); len(got) > 0 {
			t.Fatalf("%d rows while the store is away", len(got))
		}
		b.want(t, "giverny_feedback_audit_dropped_total", `# HELP giverny_feedback_audit_dropped_total Audit rows that were dropped because the store was unreachable for too long; the log has them.
# TYPE giverny_feedback_audit_dropped_total counter
giverny_feedback_audit_dropped_total 5`)
		b.store.set(false)
		time.Sleep(2 * time.Second)
		got := b.store.of("ib0")
		if len(got) != 10_000 {
			t.Fatalf("%d rows", len(got))
		}
		for i, row := range got {
			if want := "slurm " + string(rune('a'+i%26)) + " done"; row != want {
				t.Fatalf("row %d is %q, want %q", i, row, want)
			}
		}
		b.store.set(true)
		b.Acted(schema.FeedbackAction{Action: "relieve", Target: "a", Fabric: "ib0", Outcome: schema.FeedbackDone})
		cancel()
		<-done
		if n := b.trail.Waiting(); n != 1 {
			t.Errorf("%d rows are not stored at the end", n)
		}
		b.want(t, "giverny_feedback_audit_dropped_total", `# HELP giverny_feedback_audit_dropped_total Audit rows that were dropped because the store was unreachable for too long; the log has them.
# TYPE giverny_feedback_audit_dropped_total counter
giverny_feedback_audit_dropped_total 6`)
	})
}

// The log does not announce a retry of a call that is not retried, such as of a notice that its receiver has rejected.
func TestAFaultForGood(t *testing.T) {
	b := newBench(t)
	for range 2 {
		b.FailedForGood(errors.New("410 Gone"))
	}
	if log := b.log.String(); strings.Count(log, "sink failed, not retrying") != 1 || strings.Contains(log, "pause") || !strings.HasPrefix(b.State(), "failing") {
		t.Errorf("state %q, log %s", b.State(), log)
	}
}

// A fault is a state until the next success; a repeated one is logged once.
func TestFaultsAreAState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		if b.State() != "" {
			t.Errorf("state %q", b.State())
		}
		now := func(up, failing float64) {
			t.Helper()
			for name, want := range map[string]float64{"up": up, "pending": 4, "marked_nodes": 2, "faults_total": failing} {
				if got := metric.Sum(t, b.registry, "giverny_feedback_"+name, "slurm"); got != want {
					t.Errorf("%s is %g, want %g", name, got, want)
				}
			}
		}
		b.Pending(4)
		b.Marked(2)
		now(1, 0)
		for range 3 {
			b.Failed(errors.New("controller down"), time.Second)
			time.Sleep(20 * time.Second)
		}
		if got, want := b.State(), "failing for 1m0s, 4 pending: controller down"; got != want {
			t.Errorf("state %q, want %q", got, want)
		}
		if n := strings.Count(b.log.String(), "sink failed, retrying"); n != 1 {
			t.Errorf("logged %d times: %s", n, b.log.String())
		}
		b.Failed(errors.New("refused"), time.Second)
		if n := strings.Count(b.log.String(), "sink failed, retrying"); n != 2 {
			t.Errorf("another fault: logged %d times", n)
		}
		now(0, 4)
		if last := metric.Sum(t, b.registry, "giverny_feedback_last_success_timestamp_seconds"); last != 0 {
			t.Errorf("last success at %g, want 0: never", last)
		}
		for range 2 {
			b.Worked()
		}
		if b.State() != "" || strings.Count(b.log.String(), "sink works again") != 1 {
			t.Errorf("state %q, log %s", b.State(), b.log.String())
		}
		now(1, 4)
		if last, want := metric.Sum(t, b.registry, "giverny_feedback_last_success_timestamp_seconds"), float64(time.Now().Unix()); last != want {
			t.Errorf("last success at %g, want %g", last, want)
		}
	})
}
