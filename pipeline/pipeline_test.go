package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const second = int64(1e9)

// memory is a store that forgets nothing and can be made to fail.
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
	own, snap := *r, *r.Snapshot // the snapshot's memory is used again
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
		list = append(list, Revised{r.Snapshot.Interval.StartNanos, r.Revision})
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

func (m *memory) EventsBetween(_ context.Context, fabric string, from, to int64) (list []schema.Event, err error) {
	results, err := m.ResultsBetween(context.Background(), fabric, from, to)
	for _, r := range results {
		list = append(list, r.Events...)
	}
	return list, err
}

func (m *memory) JobsBetween(_ context.Context, fabric string, from, to int64) ([]schema.Job, error) {
	type key struct {
		id    string
		start schema.Instant
	}
	jobs := map[key]schema.Job{}
	for _, r := range m.stored(fabric) {
		for _, j := range r.Jobs {
			jobs[key{j.ID, j.Start}] = j
		}
	}
	maps.DeleteFunc(jobs, func(_ key, j schema.Job) bool { return int64(j.Start) >= to || j.End != 0 && int64(j.End) <= from })
	return slices.Collect(maps.Values(jobs)), nil
}

func (m *memory) FailuresBetween(_ context.Context, fabric string, from, to int64) (list []schema.Failure, err error) {
	for _, r := range m.stored(fabric) {
		list = append(list, r.Failures...)
	}
	return slices.DeleteFunc(list, func(f schema.Failure) bool { return int64(f.Time) < from || int64(f.Time) >= to }), nil
}

func (m *memory) TrafficBetween(_ context.Context, fabric string, from, to int64) (list []schema.JobTraffic, err error) {
	for _, r := range m.stored(fabric) {
		list = append(list, r.Traffic...)
	}
	return slices.DeleteFunc(list, func(t schema.JobTraffic) bool { return int64(t.Time) < from || int64(t.Time) >= to }), nil
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
	intake *Intake // of the run that goes on

	mu        sync.Mutex
	next      int // goes on over restarts of the source, as the log does
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

// epoch is when poll 0 is read.
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

// sink collects the starts of what it is given.
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
	return &rig{newMemory(), NewMetrics(prometheus.NewRegistry())}
}

func graphOf(t *testing.T, fabric, spec string) *topology.Graph {
	t.Helper()
	g, err := topology.Parse(fabric, spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (r *rig) fabric(t *testing.T, g *topology.Graph, sources func() []Source, sinks ...Sink) *Fabric {
	t.Helper()
	return r.fabricOn(t, r.store, g, sources, sinks...)
}

// fabricOn is fabric with another store.
func (r *rig) fabricOn(t *testing.T, store Store, g *topology.Graph, sources func() []Source, sinks ...Sink) *Fabric {
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
func gaps(starts []int64) (missing []int64) {
	for i := 1; i < len(starts); i++ {
		for at := starts[i-1] + second; at < starts[i]; at += second {
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

func TestAFabricIsAnalysedAndStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g, out := newRig(), graphOf(t, "f", "torus:4x4x4"), &sink{name: "out"}
		src := &polls{graph: g}
		f := r.fabric(t, g, one(src), out)
		runFor(t, 30*time.Second, f)
		stored := r.store.stored("f")
		if len(stored) < 25 || len(gaps(startsOf(stored))) > 0 || len(stored[20].Regions) != 1 {
			t.Errorf("%d intervals, gaps %v", len(stored), gaps(startsOf(stored)))
		}
		if got := out.starts(); !slices.Equal(got, startsOf(stored)) {
			t.Errorf("the sink has %d intervals, the store %d", len(got), len(stored))
		}
		if src.committed < 15 || f.Ready(t.Context()) != nil {
			t.Errorf("committed %d, ready %v", src.committed, f.Ready(t.Context()))
		}
	})
}

// Two fabrics, one of which fails in every way: the other goes on as if alone.
func TestAFaultOfOneFabricIsItsOwn(t *testing.T) {
	fault := errors.New("broken")
	for name, spoil := range map[string]func(*memory, *polls){
		"store":        func(m *memory, _ *polls) { m.breaks("bad", fault) },
		"source":       func(_ *memory, p *polls) { p.before = func(int) error { return fault } },
		"source panic": func(_ *memory, p *polls) { p.before = func(int) error { panic("broken") } },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig()
				good, bad := &polls{graph: graphOf(t, "good", "torus:4x4x4")}, &polls{graph: graphOf(t, "bad", "torus:4x4x4")}
				spoil(r.store, bad)
				a, b := r.fabric(t, good.graph, one(good)), r.fabric(t, bad.graph, one(bad))
				runFor(t, 20*time.Second, a, b)
				if n := len(r.store.stored("good")); n < 15 || a.Ready(t.Context()) != nil {
					t.Errorf("the good fabric has %d intervals, ready: %v", n, a.Ready(t.Context()))
				}
				if err := b.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "broken") {
					t.Errorf("the bad fabric is ready: %v", err)
				}
			})
		})
	}
}

// A fabric that failed goes on by itself, with nothing missing.
func TestAFabricRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
		src := &polls{graph: g}
		f := r.fabric(t, g, one(src))
		go func() {
			time.Sleep(10 * time.Second)
			r.store.breaks("f", errors.New("disk full"))
			time.Sleep(10 * time.Second)
			r.store.breaks("f", nil)
		}()
		runFor(t, 60*time.Second, f)
		stored := startsOf(r.store.stored("f"))
		if len(stored) < 30 || len(gaps(stored)) > 0 || f.Ready(t.Context()) != nil {
			t.Errorf("%d intervals, missing %v, ready: %v", len(stored), gaps(stored), f.Ready(t.Context()))
		}
		if n := testutil.ToFloat64(r.metrics.faults.WithLabelValues("f", partAnalysis)); n == 0 {
			t.Error("the fault is not counted")
		}
	})
}

func TestAFaultOfOneSinkIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
		good := &sink{name: "good"}
		bad := &sink{name: "bad", fails: func(int) error { return errors.New("unreachable") }}
		panics := &sink{name: "panics", fails: func(int) error { panic("broken") }}
		refuses := &sink{name: "refuses", fails: func(n int) error {
			if n%2 == 0 {
				return fmt.Errorf("too long: %w", ErrRefused)
			}
			return nil
		}}
		f := r.fabric(t, g, one(&polls{graph: g}), good, bad, panics, refuses)
		runFor(t, 60*time.Second, f)
		stored := startsOf(r.store.stored("f"))
		if len(stored) < 55 || !slices.Equal(good.starts(), stored) {
			t.Errorf("%d stored, %d in the good sink", len(stored), len(good.starts()))
		}
		if n := len(refuses.starts()); n < 25 || n > 31 {
			t.Errorf("the sink that refuses every second result has %d of %d", n, len(stored))
		}
		err := f.Ready(t.Context())
		if err == nil || !strings.Contains(err.Error(), "sink bad: unreachable") || !strings.Contains(err.Error(), "sink panics") || strings.Contains(err.Error(), "good") {
			t.Errorf("ready: %v", err)
		}
		if n := testutil.ToFloat64(r.metrics.sinkDropped.WithLabelValues("f", "bad", dropFull)); n < 30 {
			t.Errorf("%v results dropped for the bad sink", n)
		}
		if n := testutil.ToFloat64(r.metrics.refused.WithLabelValues("f", "refuses")); n < 25 {
			t.Errorf("%v results refused", n)
		}
	})
}

// A follower that was away gets all that it missed, from the store.
func TestAFollowerMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
		away := true
		out := &follower{sink{name: "topic", fails: func(n int) error {
			if n > 1 && away { // the first gets in
				return errors.New("away")
			}
			return nil
		}}}
		f := r.fabric(t, g, one(&polls{graph: g}), out)
		go func() {
			time.Sleep(100 * time.Second)
			out.mu.Lock()
			defer out.mu.Unlock()
			away = false
		}()
		runFor(t, 200*time.Second, f)
		if stored := startsOf(r.store.stored("f")); !slices.Equal(out.starts(), stored) {
			t.Errorf("%d stored, %d announced, missing %v", len(stored), len(out.starts()), gaps(out.starts()))
		}
		// A process that died between the store and the topic.
		out.got = out.got[:len(out.got)-7]
		runFor(t, 20*time.Second, r.fabric(t, g, one(&polls{graph: g, committed: 195}), out))
		if stored := startsOf(r.store.stored("f")); !slices.Equal(out.starts(), stored) {
			t.Errorf("after the restart %d stored, %d announced, missing %v", len(stored), len(out.starts()), gaps(out.starts()))
		}
	})
}

// The first that reports after a start is a host that was never imported: one
// port of it in the first batch, none known.
func TestAnUnlistedHostEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
		src := &polls{graph: g, extra: func(n int) []*schema.CounterBatch {
			b := poll(g, n)
			b.Agent, b.Ports, b.PortIndex, b.TimeNanos = "racked yesterday", []schema.PortName{{Device: "new", Port: "1"}}, b.PortIndex[:1], b.TimeNanos[:1]
			b.Columns[0].Values = b.Columns[0].Values[:1]
			return []*schema.CounterBatch{b}
		}}
		f := r.fabric(t, g, one(src))
		runFor(t, 20*time.Second, f)
		if n := len(r.store.stored("f")); n < 15 || f.Ready(t.Context()) != nil {
			t.Errorf("%d intervals, ready: %v", n, f.Ready(t.Context()))
		}
	})
}

// A topology that is another fabric's pauses this fabric until the right one
// comes; nothing is lost.
func TestAWrongTopologyPausesItsFabric(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		right, wrong := graphOf(t, "f", "torus:8x8x2"), graphOf(t, "f", "torus:3x3x3")
		src := &polls{graph: right}
		f := r.fabric(t, wrong, one(src))
		go func() {
			time.Sleep(30 * time.Second)
			if err := f.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "topology does not fit") {
				t.Errorf("ready: %v", err)
			}
			if err := f.SetGraph(right); err != nil {
				t.Error(err)
			}
		}()
		runFor(t, 60*time.Second, f)
		stored := startsOf(r.store.stored("f"))
		if len(stored) < 20 || len(gaps(stored)) > 0 || stored[0] > epoch+2*second || f.Ready(t.Context()) != nil {
			t.Errorf("%d intervals from %d on, missing %v, ready: %v", len(stored), stored[0]-epoch, gaps(stored), f.Ready(t.Context()))
		}
	})
}

func TestWrongFabricIsRefused(t *testing.T) {
	r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
	if err := r.fabric(t, g, nil).SetGraph(graphOf(t, "other", "torus:4x4x4")); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("error %v", err)
	}
}

// extended is the next version of a fabric: a new switch comes first, so that all
// devices have other numbers.
func extended(t *testing.T, g *topology.Graph) *topology.Graph {
	t.Helper()
	b := topology.NewBuilder(g.Fabric())
	b.SetDuplex()
	added := b.Device(topology.Device{Name: "added", Level: -1, Group: -1})
	var first topology.DeviceID
	for i := range topology.DeviceID(g.NumDevices()) {
		if id := b.Device(*g.Device(i)); i == 0 {
			first = id
		}
	}
	b.Link(topology.Link{From: added, FromPort: "1", To: first, ToPort: "extra", CapacityBytesPerSecond: 1e9, Class: topology.ClassSwitch, Dim: -1, Up: true})
	for i := range schema.LinkID(g.NumLinks()) {
		l := g.Link(i)
		l.From, l.To = l.From+first, l.To+first
		b.Link(l)
	}
	n, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A new version comes while the fabric is analysed, and a restart under the new
// one follows: no interval is missing, and the region keeps its identity.
func TestANewVersionNeedsNoRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, old := newRig(), graphOf(t, "f", "torus:4x4x4")
		now := extended(t, old)
		src := &polls{graph: old}
		f := r.fabric(t, old, one(src))
		go func() {
			time.Sleep(20500 * time.Millisecond)
			if err := f.SetGraph(now); err != nil {
				t.Error(err)
			}
		}()
		runFor(t, 25*time.Second, f) // the state was saved under the old version
		runFor(t, 30*time.Second, r.fabric(t, now, one(src)))
		stored := r.store.stored("f")
		if missing := gaps(startsOf(stored)); len(stored) < 45 || len(missing) > 0 {
			t.Fatalf("%d intervals, missing %v", len(stored), missing)
		}
		versions, ids, changes := map[uint64]int{}, map[uint64]int{}, 0
		for _, s := range stored {
			versions[s.Snapshot.GraphVersion]++
			for _, region := range s.Regions {
				ids[region.ID]++
			}
			for _, e := range s.Events {
				if e.Kind == schema.GraphChanged {
					changes++
				}
			}
		}
		if len(ids) != 1 || versions[old.Version()] < 18 || versions[now.Version()] < 25 || len(r.store.graphs) != 2 || changes != 1 {
			t.Errorf("regions %v, intervals by version %v, %d graphs, %d changes", ids, versions, len(r.store.graphs), changes)
		}
	})
}

// burst is a source that brings many intervals before the first is stored.
type burst struct {
	graph *topology.Graph
	n     int
}

func (b burst) Name() string { return "burst" }

func (b burst) Commit(context.Context, int64) error { return nil }

func (b burst) Run(_ context.Context, in *Intake) error {
	for n := range b.n {
		if n%20 != 0 { // an agent that sends what it has kept
			continue
		}
		for i := range 20 {
			if err := in.Counters(b, poll(b.graph, n+i), int64(n+i)); err != nil {
				return err
			}
		}
	}
	return in.Finish()
}

func TestABacklogIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
		f := r.fabric(t, g, one(burst{g, 200}))
		if err := f.SetGraph(extended(t, g)); err != nil {
			t.Fatal(err)
		}
		if err := f.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if stored := startsOf(r.store.stored("f")); len(stored) < 195 || len(gaps(stored)) > 0 {
			t.Errorf("%d intervals, missing %v", len(stored), gaps(stored))
		}
	})
}
