package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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

// Of two fabrics, one fails in every way: the other goes on as if alone.
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

// A fabric that failed recovers by itself, with nothing missing, even if a sink keeps failing.
func TestAFabricRecovers(t *testing.T) {
	away := func(int) error { return errors.New("unreachable") }
	for name, sinks := range map[string][]Sink{"alone": nil, "sink away": {&sink{name: "bad", fails: away}}, "follower away": {&follower{sink{name: "topic", fails: away}}}} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { recovers(t, sinks...) }) })
	}
}

func recovers(t *testing.T, sinks ...Sink) {
	r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
	src := &polls{graph: g}
	f := r.fabric(t, g, one(src), sinks...)
	go func() {
		time.Sleep(10 * time.Second)
		r.store.breaks("f", errors.New("disk full"))
		time.Sleep(10 * time.Second)
		r.store.breaks("f", nil)
	}()
	runFor(t, 60*time.Second, f)
	stored := startsOf(r.store.stored("f"))
	if err := f.Ready(t.Context()); len(stored) < 30 || len(gaps(stored)) > 0 || err != nil && strings.Contains(err.Error(), partAnalysis) {
		t.Errorf("%d intervals, missing %v, ready: %v", len(stored), gaps(stored), err)
	}
	if n := testutil.ToFloat64(r.metrics.faults.WithLabelValues("f", partAnalysis)); n == 0 {
		t.Error("the fault is not counted")
	}
	for _, s := range sinks {
		if n := testutil.ToFloat64(r.metrics.sinkDropped.WithLabelValues("f", s.Name(), dropStopped)); (n == 0) != (s.Name() == "topic") {
			t.Errorf("%v results dropped for sink %s when the run ended", n, s.Name())
		}
	}
}

// flaky is a source that fails eight times at once, then after an hour.
type flaky struct{ begun []time.Time }

func (*flaky) Name() string { return "flaky" }

func (s *flaky) Run(ctx context.Context, _ *Intake) error {
	s.begun = append(s.begun, time.Now())
	switch n := len(s.begun); {
	case n == 9:
		time.Sleep(time.Hour)
	case n > 9:
		<-ctx.Done()
		return nil
	}
	return errors.New("broken")
}

// A source that fails after working for long is restarted soon, however often it failed before.
func TestASourceFailsAfresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g, s := newRig(), graphOf(t, "f", "torus:4x4x4"), &flaky{}
		runFor(t, 70*time.Minute, r.fabric(t, g, one(s)))
		if len(s.begun) != 10 {
			t.Fatalf("%d runs", len(s.begun))
		}
		if pause := s.begun[9].Sub(s.begun[8]) - time.Hour; pause > 2*minPause {
			t.Errorf("a pause of %v", pause)
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

// The first to report after a start is a host that was never imported: its first
// batch has one port, which is unknown. The log says that its readings are dropped.
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
		go func() {
			time.Sleep(10 * time.Second)
			if got, want := f.State(), "1 reporting ports are not in the topology, the first: new/1; import the fabric again"; !strings.HasPrefix(got, want) { // and that the time is of another year
				t.Errorf("state %q, want %q", got, want)
			}
		}()
		runFor(t, 20*time.Second, f)
		if n := len(r.store.stored("f")); n < 15 || f.Ready(t.Context()) != nil {
			t.Errorf("%d intervals, ready: %v", n, f.Ready(t.Context()))
		}
	})
}

// Two hosts with one name, as from a shared configuration that sets collect.agent, are reported, and no batch
// counts as missing though each host numbers its own.
func TestTwoAgentsOfOneNameAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
		src := &polls{graph: g, extra: func(n int) []*schema.CounterBatch {
			b := poll(g, n)
			b.Sequence += 50_000
			for i := range b.TimeNanos {
				b.TimeNanos[i] += second / 4
			}
			return []*schema.CounterBatch{b}
		}}
		f := r.fabric(t, g, one(src))
		go func() {
			time.Sleep(10 * time.Second)
			if got, want := f.State(), "several processes send under one agent name: a; give each its own collect.agent, or stop all but one"; !strings.HasPrefix(got, want) {
				t.Errorf("state %q, want %q", got, want)
			}
		}()
		runFor(t, 20*time.Second, f)
		if n := testutil.ToFloat64(r.metrics.missing.WithLabelValues("f")); n > 0 {
			t.Errorf("%v batches are missing", n)
		}
	})
}

// The topology of another fabric pauses this fabric until the right one comes; nothing
// is lost.
func TestAWrongTopologyPausesItsFabric(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		right, wrong := graphOf(t, "f", "torus:8x8x2"), graphOf(t, "f", "torus:3x3x3")
		src := &polls{graph: right}
		f := r.fabric(t, wrong, one(src))
		go func() {
			time.Sleep(30 * time.Second)
			if err := f.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "topology does not match") {
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

// The method that finds regions depends on the topology and is logged at the start.
func TestTheMethodIsLogged(t *testing.T) {
	for spec, want := range map[string]string{"torus:4x4x4": "segments of constant stall", "fattree:k=4": "congestion trees"} {
		var text strings.Builder
		deps := Deps{Log: slog.New(slog.NewTextHandler(&text, nil)), Metrics: registered(prometheus.NewPedanticRegistry())}
		if _, err := New(graphOf(t, "f", spec), analysis.DefaultConfig(), deps); err != nil {
			t.Fatal(err)
		}
		if got := text.String(); !strings.Contains(got, "fabric=f") || !strings.Contains(got, want) {
			t.Errorf("%s: logged %q, want %q", spec, got, want)
		}
	}
}

func TestWrongFabricIsRefused(t *testing.T) {
	r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
	if err := r.fabric(t, g, nil).SetGraph(graphOf(t, "other", "torus:4x4x4")); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("error %v", err)
	}
}

// extended returns the next version of a fabric, with a new switch as its first
// device, so that all others have new numbers.
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

// A new version comes while the fabric is analysed, followed by a restart under
// it: no interval is missing, and the region keeps its identity.
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

// A version that came while no process ran is an event of the time at which it takes effect.
func TestANewVersionAfterARestartIsAnEventOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, old := newRig(), graphOf(t, "f", "torus:4x4x4")
		src := &polls{graph: old}
		runFor(t, 15*time.Second, r.fabric(t, old, one(src)))
		resumed := r.store.stored("f")[len(r.store.stored("f"))-1].Snapshot.Interval.EndNanos()
		runFor(t, 10*time.Second, r.fabric(t, extended(t, old), one(src)))
		changes := 0
		for _, s := range r.store.stored("f") {
			for _, e := range s.Events {
				if e.Kind != schema.GraphChanged {
					continue
				}
				changes++
				if e.TimeNanos < resumed || !s.Snapshot.Interval.Contains(e.TimeNanos) {
					t.Errorf("the change is an event of %s, stored with %s", time.Unix(0, e.TimeNanos).UTC(), s.Snapshot.Interval)
				}
			}
		}
		if changes != 1 {
			t.Errorf("%d changes", changes)
		}
	})
}

// However many versions come, only those that results may still have are kept.
func TestOldVersionsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
		f := r.fabric(t, g, one(&polls{graph: g}))
		kept := 0
		go func() {
			for _, spec := range []string{"torus:4x4x3", "torus:4x4x2", "torus:4x3x4", "torus:4x4x4"} {
				time.Sleep(5 * time.Second)
				if err := f.SetGraph(graphOf(t, "f", spec)); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(5 * time.Second)
			f.intake.mu.Lock()
			defer f.intake.mu.Unlock()
			kept = len(f.intake.graphs)
		}()
		runFor(t, 30*time.Second, f)
		if missing := gaps(startsOf(r.store.stored("f"))); kept != 2 || len(missing) > 0 {
			t.Errorf("%d versions kept, missing %v", kept, missing)
		}
	})
}

// burst is a source that sends many intervals before the first is stored.
type burst struct {
	graph *topology.Graph
	n     int
}

func (b burst) Name() string { return "burst" }

func (b burst) Commit(context.Context, int64) error { return nil }

func (b burst) Run(_ context.Context, in *Intake) error {
	for n := range b.n {
		if n%20 != 0 { // an agent that sends what it spooled
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
