package pipeline

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

const second = int64(1e9)

// memory is a store in memory that can be made to fail.
type memory struct {
	mu      sync.Mutex
	results map[string]map[int64]*schema.IntervalResult
	graphs  map[uint64]*topology.Graph
	broken  map[string]error // by fabric
}

func newMemory() *memory {
	return &memory{results: map[string]map[int64]*schema.IntervalResult{}, graphs: map[uint64]*topology.Graph{}, broken: map[string]error{}}
}

func (m *memory) StoreGraph(_ context.Context, g *topology.Graph) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.graphs[g.Version()] = g
	return m.broken[g.Fabric()]
}

func (m *memory) Put(_ context.Context, r *schema.IntervalResult) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	fabric := r.Snapshot.Fabric
	if err := m.broken[fabric]; err != nil {
		return err
	}
	if m.graphs[r.Snapshot.GraphVersion] == nil {
		return errors.New("the graph is not stored")
	}
	if m.results[fabric] == nil {
		m.results[fabric] = map[int64]*schema.IntervalResult{}
	}
	if was := m.results[fabric][r.Snapshot.Interval.StartNanos]; was != nil && was.Revision >= r.Revision {
		return nil // once
	}
	own, snap := *r, *r.Snapshot // the snapshot's memory is reused
	snap.Series = slices.Clone(snap.Series)
	for i := range snap.Series {
		snap.Series[i].Values, snap.Series[i].Valid = slices.Clone(snap.Series[i].Values), slices.Clone(snap.Series[i].Valid)
	}
	own.Snapshot = &snap
	m.results[fabric][snap.Interval.StartNanos] = &own
	return nil
}

func (m *memory) stored(fabric string) (list []*schema.IntervalResult) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.results[fabric]), func(a, b *schema.IntervalResult) int {
		return cmp.Compare(a.Snapshot.Interval.StartNanos, b.Snapshot.Interval.StartNanos)
	})
}

func (m *memory) breaks(fabric string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken[fabric] = err
}

func (m *memory) LastInterval(_ context.Context, fabric string, before int64) (schema.Interval, error) {
	all := slices.DeleteFunc(m.stored(fabric), func(r *schema.IntervalResult) bool { return r.Snapshot.Interval.StartNanos >= before })
	if len(all) == 0 {
		return schema.Interval{}, ErrNothingStored
	}
	return all[len(all)-1].Snapshot.Interval, nil
}

func (m *memory) Revisions(_ context.Context, fabric string, from, to int64) (list []Revised, err error) {
	results, err := m.ResultsBetween(context.Background(), fabric, from, to)
	for _, r := range results {
		one := Revised{StartNanos: r.Snapshot.Interval.StartNanos, Revision: r.Revision}
		for _, series := range r.Snapshot.Series {
			one.Values += series.Count
		}
		list = append(list, one)
	}
	return list, err
}

func (m *memory) SavedStates(_ context.Context, fabric string, upTo int64) (schema.Interval, uint64, []schema.StageState, error) {
	for _, r := range slices.Backward(m.stored(fabric)) {
		if s := r.Snapshot; r.Saved != nil && s.Interval.StartNanos <= upTo {
			return s.Interval, s.GraphVersion, r.Saved, nil
		}
	}
	return schema.Interval{}, 0, nil, ErrNothingStored
}

func (m *memory) ResultsBetween(_ context.Context, fabric string, from, to int64) (list []*schema.IntervalResult, err error) {
	for _, r := range m.stored(fabric) {
		if at := r.Snapshot.Interval.StartNanos; at >= from && at < to {
			list = append(list, r)
		}
	}
	return list, nil
}

func (m *memory) FoundBetween(ctx context.Context, fabric string, from, to int64) ([]*schema.IntervalResult, error) {
	return m.ResultsBetween(ctx, fabric, from, to)
}

func (m *memory) FeedsBetween(ctx context.Context, fabric string, from, to int64) (feeds analysis.Feeds, err error) {
	within, err := m.ResultsBetween(ctx, fabric, from, to)
	for _, r := range within {
		feeds.Events = append(feeds.Events, r.Events...)
	}
	type key struct {
		id    string
		start schema.Instant
	}
	jobs := map[key]schema.Job{}
	for _, r := range m.stored(fabric) {
		for _, j := range r.Jobs {
			jobs[key{j.ID, j.Start}] = j
		}
		feeds.Failures, feeds.Traffic = append(feeds.Failures, r.Failures...), append(feeds.Traffic, r.Traffic...)
	}
	since := from - analysis.MaxAhead.Nanoseconds()
	maps.DeleteFunc(jobs, func(_ key, j schema.Job) bool { return int64(j.Start) >= to || j.End != 0 && int64(j.End) <= since })
	feeds.Jobs = slices.Collect(maps.Values(jobs))
	feeds.Failures = slices.DeleteFunc(feeds.Failures, func(f schema.Failure) bool { return int64(f.Time) < from || int64(f.Time) >= to })
	feeds.Traffic = slices.DeleteFunc(feeds.Traffic, func(t schema.JobTraffic) bool { return int64(t.Time) < from || int64(t.Time) >= to })
	return feeds, err
}

func (m *memory) Graph(_ context.Context, _ string, version uint64) (*topology.Graph, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.graphs[version]; g != nil {
		return g, nil
	}
	return nil, errors.New("no such graph")
}

// polls is a source of one poll of a graph's ports a second, and of the clock.
type polls struct {
	name   string
	graph  *topology.Graph
	before func(n int) error // of poll n; may be nil
	extra  func(n int) []*schema.CounterBatch
	intake *Intake // of the current run

	mu        sync.Mutex
	next      int // kept over restarts of the source, as in a log
	committed int64
}

func (p *polls) Name() string { return cmp.Or(p.name, "polls") }

func (p *polls) Commit(_ context.Context, offset int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.committed = max(p.committed, offset)
	return nil
}

func (p *polls) Run(ctx context.Context, in *Intake) error {
	p.mu.Lock()
	p.next, p.intake = int(p.committed), in
	p.mu.Unlock()
	for ctx.Err() == nil {
		p.mu.Lock()
		n := p.next
		p.next++
		p.mu.Unlock()
		if p.before != nil {
			if err := p.before(n); err != nil {
				return err
			}
		}
		if p.extra != nil {
			for _, b := range p.extra(n) {
				if err := in.Counters(p, b, NoOffset); err != nil {
					return err
				}
			}
		}
		b := poll(p.graph, n)
		if err := in.Counters(p, b, int64(n)); err != nil {
			return err
		}
		if err := in.Advance(b.TimeNanos[0], b.TimeNanos[0]); err != nil {
			return err
		}
		time.Sleep(time.Second)
	}
	return nil
}

// epoch is the time of poll 0.
const epoch = 1_000_000 * second

// poll reads every port of a graph: a quarter of its links stall 40% of the time.
func poll(g *topology.Graph, n int) *schema.CounterBatch {
	b := &schema.CounterBatch{Fabric: g.Fabric(), Source: "test", Agent: "a", Sequence: uint64(n + 1), IntervalNanos: second,
		Columns: []schema.CounterColumn{{Name: "gemini.credit_stall_ns"}}}
	for id := range schema.LinkID(g.NumLinks()) {
		l := g.Link(id)
		stalled := uint64(0)
		if g.Device(l.From).Coord[2] == 0 && g.Device(l.To).Coord[2] == 0 {
			stalled = uint64(n) * uint64(second) * 40 / 100
		}
		for _, port := range []schema.PortName{{Device: g.Device(l.From).Name, Port: l.FromPort}, {Device: g.Device(l.To).Name, Port: l.ToPort}} {
			b.PortIndex = append(b.PortIndex, uint32(len(b.Ports)))
			b.Ports = append(b.Ports, port)
			b.TimeNanos = append(b.TimeNanos, epoch+int64(n)*second)
			b.Columns[0].Values = append(b.Columns[0].Values, stalled)
		}
	}
	return b
}

// sink collects the starts of the intervals that it is given.
type sink struct {
	name  string
	fails func(n int) error // of call n; may be nil

	mu    sync.Mutex
	calls int
	got   []int64
}

func (s *sink) Name() string { return s.name }

func (s *sink) Put(_ context.Context, r *schema.IntervalResult) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.fails != nil {
		if err := s.fails(s.calls); err != nil {
			return err
		}
	}
	s.got = append(s.got, r.Snapshot.Interval.StartNanos)
	return nil
}

func (s *sink) starts() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// follower is a sink that must not miss an interval.
type follower struct{ sink }

func (f *follower) Last(context.Context) (int64, error) {
	got := f.starts()
	if len(got) == 0 {
		return 0, nil
	}
	return got[len(got)-1], nil
}

type rig struct {
	store   *memory
	metrics *Metrics
}

func newRig() *rig {
	return &rig{newMemory(), registered(prometheus.NewRegistry())}
}

// registered returns metrics in a new registry.
func registered(reg prometheus.Registerer) *Metrics {
	m, err := NewMetrics(reg)
	if err != nil {
		panic(err)
	}
	return m
}

func graphOf(t testing.TB, fabric, spec string) *topology.Graph {
	t.Helper()
	return topologytest.Parse(t, fabric, spec)
}

func (r *rig) fabric(t testing.TB, g *topology.Graph, sources func() []Source, sinks ...Sink) *Fabric {
	t.Helper()
	return r.fabricOn(t, r.store, g, sources, sinks...)
}

// fabricOn is fabric with another store.
func (r *rig) fabricOn(t testing.TB, store Store, g *topology.Graph, sources func() []Source, sinks ...Sink) *Fabric {
	t.Helper()
	cfg := analysis.DefaultConfig()
	cfg.Window.Interval, cfg.Window.ClockLateness, cfg.Window.EventTimeLateness = time.Second, time.Second/2, 3*time.Second/2
	cfg.Segment.MinLinks = 4
	f, err := New(g, cfg, Deps{Log: slog.New(slog.DiscardHandler), Metrics: r.metrics, Sources: sources, Store: store, Sinks: sinks})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// runFor runs fabrics for some time of a synctest bubble.
func runFor(t *testing.T, d time.Duration, fabrics ...*Fabric) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var wg sync.WaitGroup
	for _, f := range fabrics {
		wg.Go(func() {
			if err := f.Run(ctx); err != nil {
				t.Errorf("fabric %s: %v", f.Name(), err)
			}
		})
	}
	wg.Wait()
}

func one(s Source) func() []Source { return func() []Source { return []Source{s} } }

// gaps lists the intervals that are missing between the first and the last.
func gaps(starts []int64) (missing []int64) { return gapsIn(starts, second) }

// gapsIn is gaps in intervals of any length.
func gapsIn(starts []int64, interval int64) (missing []int64) {
	for i := 1; i < len(starts); i++ {
		for at := starts[i-1] + interval; at < starts[i]; at += interval {
			missing = append(missing, at)
		}
	}
	return missing
}

func startsOf(results []*schema.IntervalResult) (list []int64) {
	for _, r := range results {
		list = append(list, r.Snapshot.Interval.StartNanos)
	}
	return list
}
