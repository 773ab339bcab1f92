package feeds_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// script is a source with scripted reads.
type script struct {
	mu        sync.Mutex
	reads     []func(now time.Time) (feeds.Rows, error) // the last one is repeated
	committed int
	read      int
}

func (s *script) Read(_ context.Context, now time.Time) (feeds.Rows, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.reads[min(s.read, len(s.reads)-1)]
	s.read++
	return next(now)
}

func (s *script) Commit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.committed = s.read
	return nil
}

// taker is an emitter that stores the rows it is given.
type taker struct {
	mu       sync.Mutex
	jobs     []schema.Job
	failures []schema.Failure
	traffic  []schema.JobTraffic
	refuse   func(n int) error // by the number of the call
	calls    int

	refuseJob string // a job that is permanently rejected
}

func (e *taker) take(keep func()) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.calls++; e.refuse != nil {
		if err := e.refuse(e.calls); err != nil {
			return err
		}
	}
	keep()
	return nil
}

func (e *taker) EmitJobs(_ context.Context, _ string, rows []schema.Job) error {
	if e.refuseJob != "" && slices.ContainsFunc(rows, func(j schema.Job) bool { return j.ID == e.refuseJob }) {
		return &feeds.FinalError{Err: errors.New("too large")}
	}
	return e.take(func() { e.jobs = append(e.jobs, rows...) })
}

func (e *taker) EmitFailures(_ context.Context, _ string, rows []schema.Failure) error {
	return e.take(func() { e.failures = append(e.failures, rows...) })
}

func (e *taker) EmitTraffic(_ context.Context, _ string, rows []schema.JobTraffic) error {
	return e.take(func() { e.traffic = append(e.traffic, rows...) })
}

func graph(t *testing.T, spec, fabric string) *topology.Graph {
	t.Helper()
	return topologytest.Parse(t, fabric, spec)
}

type bench struct {
	*feeds.Runner
	source *script
	out    *taker
	reg    *prometheus.Registry
	log    bytes.Buffer
}

func newBench(t *testing.T, m nodes.Map, reads ...func(now time.Time) (feeds.Rows, error)) *bench {
	t.Helper()
	b := &bench{source: &script{reads: reads}, out: &taker{}, reg: prometheus.NewRegistry()}
	metrics, err := feeds.NewMetrics(b.reg)
	if err != nil {
		t.Fatal(err)
	}
	cfg := feeds.DefaultConfig(10 * time.Second)
	b.Runner, err = feeds.New("jobs.test", cfg, feeds.Deps{Source: b.source, Emitter: b.out, Metrics: metrics, Log: slog.New(slog.NewTextHandler(&b.log, nil)),
		Resolver: nodes.New([]*topology.Graph{graph(t, "torus:4x4x4", "plane0"), graph(t, "torus:2x2x2", "plane1")}, m)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func job(id string, start, end time.Time, of ...string) schema.Job {
	j := schema.Job{ID: id, Nodes: of, Start: schema.Instant(start.UnixNano())}
	if !end.IsZero() {
		j.End = schema.Instant(end.UnixNano())
	}
	return j
}

// Rows go to the fabrics that have their nodes, with device names; others are counted.
func TestRows(t *testing.T) {
	b := newBench(t, nodes.Map{"nid1": {"0,0,0"}, "nid2": {"3,3,3"}, "gone": {"9,9,9"}}, func(now time.Time) (feeds.Rows, error) {
		past := now.Add(-time.Hour)
		return feeds.Rows{
			Jobs: []schema.Job{
				job("1", past, time.Time{}, "nid1", "nid2", "0,0,0", "stranger", "gone"),
				job("2", past, time.Time{}, "nid2.example.org"),
				job("3", past, time.Time{}, "stranger"),
				job("4", now.Add(time.Hour), time.Time{}, "nid1"),
				job("5", past, past.Add(-time.Second), "nid1"),
				job("", past, time.Time{}, "nid1"),
				job(strings.Repeat("x", 300), past, time.Time{}, "nid1"),
				job("6\x1b[31m", past, time.Time{}, "nid1"),
				job("6\xff", past, time.Time{}, "nid1"),
				job("7", time.Time{}, time.Time{}, "nid1"),
			},
			Failures: []schema.Failure{
				{Time: schema.Instant(past.UnixNano()), Kind: schema.LinkFailed, Device: "3,3,3", Port: "X+"},
				{Time: schema.Instant(past.UnixNano()), Kind: schema.NodeFailed, Device: "nid2", Port: "eth0"},
				{Time: schema.Instant(past.UnixNano()), Kind: schema.Throttled},
				{Time: schema.Instant(past.UnixNano()), Kind: schema.LinkFailed, Device: "stranger"},
				{Time: schema.Instant(past.UnixNano()), Kind: schema.LinkFailed, Device: "3,3,3", Port: "Ethernet0"},
				{Time: schema.Instant(past.UnixNano()), Kind: schema.LinkFailed, Device: "3,3,3", Port: "X\xff"},
				{Time: schema.Instant(past.UnixNano()), Kind: schema.LinkFailed, Device: "3,3,3", Port: strings.Repeat("X", 257)},
				{Time: schema.Instant(past.UnixNano()), Kind: schema.LinkFailed, Device: strings.Repeat("3", 257), Port: "X+"},
				{Kind: schema.LinkFailed, Device: "3,3,3", Port: "X+"},
			},
			Traffic: []schema.JobTraffic{{JobID: "1", Time: schema.Instant(past.UnixNano())}, {JobID: "1"}, {JobID: "1\n", Time: schema.Instant(past.UnixNano())},
				{JobID: "1", Time: schema.Instant(now.Add(time.Hour).UnixNano())}},
			Drops: feeds.Drops{Dropped: map[string]uint64{feeds.Malformed: 3}},
		}, nil
	})
	b.Once(t.Context())
	var got []string
	for _, j := range b.out.jobs {
		got = append(got, fmt.Sprint(j.Fabric, " ", j.ID, " ", strings.Join(j.Nodes, " ")))
	}
	for _, f := range b.out.failures {
		got = append(got, fmt.Sprint(f.Fabric, " ", f.Kind, " ", f.Device, " ", f.Port))
	}
	for _, f := range b.out.traffic {
		got = append(got, fmt.Sprint(f.Fabric, " ", f.JobID))
	}
	want := []string{"plane0 1 0,0,0 3,3,3", "plane0 2 3,3,3", "plane1 1 0,0,0",
		"plane0 link_failed 3,3,3 X+", "plane0 switch_failed 3,3,3 ", "plane0 congestion_protection  ", "plane1 congestion_protection  ",
		"plane0 1", "plane1 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for reason, n := range map[string]float64{feeds.Malformed: 3, feeds.NoDevice: 2, feeds.NoPort: 1, feeds.Future: 2, feeds.Backwards: 1, feeds.Unsendable: 8, feeds.NoTime: 3, feeds.TooMany: 0} {
		if v := metric.Sum(t, b.reg, "giverny_feed_rows_dropped_total", reason); v != n {
			t.Errorf("%v dropped as %s, want %v", v, reason, n)
		}
	}
	if u, m := metric.Sum(t, b.reg, "giverny_feed_nodes_unknown_total", "unknown"), metric.Sum(t, b.reg, "giverny_feed_nodes_unknown_total", "mapped_away"); u != 3 || m != 1 {
		t.Errorf("%v unknown and %v mapped away, want 3 and 1", u, m)
	}
	if h := b.Health(); h.State != feeds.Implausible || h.Rows != 9 {
		t.Errorf("%+v", h)
	}
}

// A feed that stops, has implausible rows, floods, and recovers: each is a state, also in the metrics.
func TestStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("no answer")
		good := func(now time.Time) (feeds.Rows, error) {
			return feeds.Rows{Jobs: []schema.Job{job("1", now.Add(-time.Hour), time.Time{}, "0,0,0")}}, nil
		}
		bad := func(time.Time) (feeds.Rows, error) { return feeds.Rows{}, broken }
		lie := func(now time.Time) (feeds.Rows, error) {
			return feeds.Rows{Jobs: []schema.Job{job("1", now.Add(time.Hour), time.Time{}, "0,0,0")}}, nil
		}
		flood := func(now time.Time) (rows feeds.Rows, err error) {
			for i := range feeds.MaxRows {
				rows.Jobs = append(rows.Jobs, job(fmt.Sprint(i), now.Add(-time.Hour), time.Time{}, "0,0,0"))
			}
			rows.More = true
			return rows, nil
		}
		b := newBench(t, nil, good)
		if s := b.Health().State; s != feeds.Waiting {
			t.Errorf("before the first read: %s", s)
		}
		step := func(what string, wait time.Duration, read func(time.Time) (feeds.Rows, error), times int, want feeds.State) {
			t.Helper()
			b.source.reads = append(b.source.reads[:0], read)
			for range times {
				time.Sleep(wait)
				b.Once(t.Context())
			}
			if s := b.Health().State; s != want || metric.Sum(t, b.reg, "giverny_feed_state", string(want)) != 1 {
				t.Errorf("%s: %s, want %s", what, s, want)
			}
		}
		step("good", time.Second, good, 1, feeds.OK)
		step("two reads fail", time.Second, bad, 2, feeds.OK)
		step("three", time.Second, bad, 1, feeds.Stopped)
		step("back", time.Second, good, 1, feeds.OK)
		step("in the future", time.Second, lie, 1, feeds.Implausible)
		if text := b.State(); !strings.Contains(text, `job "`) || !strings.Contains(text, "ahead of this host's clock") || !strings.Contains(b.log.String(), "future: its time") {
			t.Errorf("the state does not name the row: %s\n%s", text, b.log.String())
		}
		step("a minute of truth", time.Minute, good, 1, feeds.OK)
		step("6000 rows in a minute", time.Second, flood, 6, feeds.Flood)
		step("calm", 2*time.Minute, good, 2, feeds.OK)
		doubtful := func(now time.Time) (feeds.Rows, error) {
			rows, err := good(now)
			rows.Doubts = []feeds.Fault{feeds.NewFault("squeue: job 7", "late", "the scheduler's clock is behind")}
			return rows, err
		}
		step("a clock behind", time.Second, doubtful, 1, feeds.Implausible)
		if text := b.State(); text != "implausible (squeue: job 7: the scheduler's clock is behind)" || len(b.out.jobs) == 0 {
			t.Errorf("%s", text)
		}
		elsewhere := func(now time.Time) (feeds.Rows, error) {
			return feeds.Rows{Jobs: []schema.Job{job("1", now.Add(-time.Hour), time.Time{}, "login1")}}, nil
		}
		step("some jobs run elsewhere", 10*time.Second, elsewhere, 19, feeds.OK)
		step("all do", time.Second, elsewhere, 1, feeds.Unmatched)
		if text := b.State(); !strings.Contains(text, "none of the last 20 rows has a device") || !strings.Contains(text, "login1") {
			t.Errorf("%s", text)
		}
		step("one runs here", time.Second, good, 1, feeds.OK)
		garbled := func(now time.Time) (rows feeds.Rows, err error) {
			rows.Refuse(feeds.NoTime, "jobs.csv:2", "start \"1767571220000\"")
			return rows, nil
		}
		step("some rows cannot be parsed", 10*time.Second, garbled, 19, feeds.Incomplete)
		step("twenty cannot", time.Second, garbled, 1, feeds.Unusable)
		if text := b.State(); text != `unusable (none of the last 20 rows can be parsed, for example jobs.csv:2: start "1767571220000")` {
			t.Errorf("%s", text)
		}
		step("one row among unchanged ones", time.Second, func(now time.Time) (feeds.Rows, error) {
			rows, err := garbled(now)
			rows.Listed = 5
			return rows, err
		}, 30, feeds.Incomplete)
		if text := b.State(); !strings.HasPrefix(text, "incomplete (rows that cannot be parsed in the read at ") || !strings.HasSuffix(text, `: 1, for example jobs.csv:2: start "1767571220000")`) {
			t.Errorf("%s", text)
		}
		step("an hour without", time.Hour, good, 1, feeds.OK)
		held := func(now time.Time) (feeds.Rows, error) {
			rows, err := good(now)
			rows.Refuse(feeds.Malformed, "sacct:2", "start \"yesterday\"")
			rows.Held = true
			return rows, err
		}
		since := time.Now().Add(time.Second).UTC().Format(time.RFC3339)
		step("most rows cannot be parsed", time.Second, held, 2, feeds.Incomplete)
		step("three times", time.Second, held, 1, feeds.Unusable)
		if text := b.State(); text != `unusable (most rows cannot be parsed, for example sacct:2: start "yesterday"; rows since `+since+` are queried again until they can)` {
			t.Errorf("%s", text)
		}
		if n := metric.Sum(t, b.reg, "giverny_feed_reads_held_total", "jobs.test"); n != 3 {
			t.Errorf("%v held reads counted, want 3", n)
		}
		step("they can", time.Second, good, 1, feeds.Incomplete)
		fresh := newBench(t, nil, elsewhere)
		for range 3 {
			fresh.Once(t.Context())
		}
		if s := fresh.Health().State; s != feeds.Unmatched {
			t.Errorf("no row was ever of a device: %s", s)
		}
	})
}

// A flood is throttled to its limit: 10,000 starts take two minutes at 5,000 per minute.
func TestFloodIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 10_000
		b := newBench(t, nil, func(now time.Time) (rows feeds.Rows, err error) {
			for range min(left, feeds.MaxRows) {
				left--
				rows.Jobs = append(rows.Jobs, job(fmt.Sprint(left), now.Add(-time.Hour), time.Time{}, "3,3,3"))
			}
			rows.More, rows.Backlog = left > 0, left
			return rows, nil
		})
		if b.Once(t.Context()); b.Health().State != feeds.Flood {
			t.Errorf("10000 starts at once: %s", b.Health().State)
		}
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		done := make(chan error)
		go func() { done <- b.Run(ctx) }()
		for b.Health().Rows < 10_000 {
			time.Sleep(time.Second)
		}
		if took := time.Since(began); took < 80*time.Second || took > 130*time.Second {
			t.Errorf("10000 rows took %v", took)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// What the emitter does not accept is retried, and nothing is read meanwhile; permanent rejections are dropped.
func TestEmitterFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, func(now time.Time) (feeds.Rows, error) {
			return feeds.Rows{Jobs: []schema.Job{job("1", now.Add(-time.Hour), time.Time{}, "3,3,3")}}, nil
		})
		b.out.refuse = func(n int) error {
			if n < 5 {
				return errors.New("the disk is full")
			}
			return nil
		}
		b.Once(t.Context())
		if len(b.out.jobs) != 1 || b.source.read != 1 || b.source.committed != 1 || metric.Sum(t, b.reg, "giverny_feed_retries_total") != 4 {
			t.Errorf("%d jobs, %d reads, %d committed", len(b.out.jobs), b.source.read, b.source.committed)
		}
		b.out.refuse = func(int) error { return &feeds.FinalError{Err: errors.New("too large")} }
		b.Once(t.Context())
		if len(b.out.jobs) != 1 || metric.Sum(t, b.reg, "giverny_feed_rows_dropped_total", feeds.NotTaken) != 1 {
			t.Error("a row that was refused for good is not counted")
		}
		// One row of many is rejected: the others are accepted.
		b.source.reads[0] = func(now time.Time) (rows feeds.Rows, err error) {
			for i := range 9 {
				rows.Jobs = append(rows.Jobs, job(fmt.Sprint("many", i), now.Add(-time.Hour), time.Time{}, "3,3,3"))
			}
			return rows, nil
		}
		b.out.refuse, b.out.refuseJob = nil, "many5"
		b.Once(t.Context())
		if len(b.out.jobs) != 9 || metric.Sum(t, b.reg, "giverny_feed_rows_dropped_total", feeds.NotTaken) != 2 {
			t.Errorf("%d jobs were taken, want 9", len(b.out.jobs))
		}
		b.out.refuse = func(int) error { return errors.New("the disk is full") }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		before := b.source.committed
		b.Once(ctx)
		if b.source.committed != before {
			t.Error("rows that nobody took were committed")
		}
	})
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{"a\nb\x00": "a b ", "\x7f\u009b31mred": "  31mred", "x\xff": "x\uFFFD", "ééé": "éé"} {
		n := 256
		if in == "ééé" {
			n = 5
		}
		if got := feeds.Clean(in, n); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// All series exist from the start.
func TestMetricsExistFromTheStart(t *testing.T) {
	b := newBench(t, nil, func(time.Time) (feeds.Rows, error) { return feeds.Rows{}, nil })
	if n, err := testutil.GatherAndCount(b.reg, "giverny_feed_rows_dropped_total"); err != nil || n != len(feeds.Reasons()) {
		t.Errorf("%d reasons, %v", n, err)
	}
	if n, err := testutil.GatherAndCount(b.reg, "giverny_feed_state"); err != nil || n != len(feeds.States()) {
		t.Errorf("%d states, %v", n, err)
	}
}

// A dropped row is logged once with its location, however often its file is read.
func TestFaultsAreLoggedOnce(t *testing.T) {
	fault := feeds.Fault{Where: "jobs.csv:7", Reason: feeds.Malformed, Detail: "no job id"}
	read := func(time.Time) (feeds.Rows, error) {
		return feeds.Rows{Drops: feeds.Drops{Dropped: map[string]uint64{feeds.Malformed: 1}, Faults: []feeds.Fault{fault}}}, nil
	}
	b := newBench(t, nil, read)
	b.Once(t.Context())
	b.Once(t.Context())
	if n := strings.Count(b.log.String(), "jobs.csv:7: malformed: no job id"); n != 1 {
		t.Errorf("logged %d times, want once:\n%s", n, b.log.String())
	}
	if v := metric.Sum(t, b.reg, "giverny_feed_rows_dropped_total", feeds.Malformed); v != 2 {
		t.Errorf("%v counted, want 2", v)
	}
}
