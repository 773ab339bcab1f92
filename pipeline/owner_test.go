package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// turn is an ownership that a test gives and takes away.
type turn struct {
	mu            sync.Mutex // guards what follows
	changed       chan struct{}
	wanted, valid context.Context // nil: not owned
	giveUp, end   context.CancelFunc
	released      chan struct{} // closed when the holder has released
	trouble       error         // of the group
}

func (o *turn) Ready(context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.trouble
}

func newTurn() *turn { return &turn{changed: make(chan struct{})} }

func (o *turn) grant() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.valid, o.end = context.WithCancel(context.Background())
	o.wanted, o.giveUp = context.WithCancel(o.valid)
	o.released = make(chan struct{})
	close(o.changed)
	o.changed = make(chan struct{})
}

// askBack asks for the ownership back and waits until it is released.
func (o *turn) askBack() {
	o.mu.Lock()
	o.giveUp()
	released := o.released
	o.mu.Unlock()
	<-released
	o.lose()
}

// lose ends the ownership, even during a write.
func (o *turn) lose() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end()
	o.wanted, o.valid = nil, nil
}

func (o *turn) Acquire(ctx context.Context) (context.Context, func(), error) {
	for {
		o.mu.Lock()
		wanted, changed, released := o.wanted, o.changed, o.released
		o.mu.Unlock()
		if wanted != nil && wanted.Err() == nil {
			owned, cancel := context.WithCancel(ctx)
			detach := context.AfterFunc(wanted, cancel)
			return owned, func() { detach(); cancel(); close(released) }, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

func (o *turn) Guard(ctx context.Context) (context.Context, context.CancelFunc, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.valid == nil {
		return nil, nil, fmt.Errorf("lost: %w", kafka.ErrFenced)
	}
	guarded, cancel := context.WithCancel(ctx)
	detach := context.AfterFunc(o.valid, cancel)
	return guarded, func() { detach(); cancel() }, nil
}

// shared makes a fabric that its process owns only at times.
func (r *rig) shared(t *testing.T, g *topology.Graph, owner Owner, source Source, sinks ...Sink) *Fabric {
	t.Helper()
	cfg := analysis.DefaultConfig()
	cfg.Window.Interval, cfg.Window.ClockLateness, cfg.Window.EventTimeLateness = time.Second, time.Second/2, 3*time.Second/2
	cfg.Segment.MinLinks = 4
	f, err := New(g, cfg, Deps{Log: slog.New(slog.DiscardHandler), Metrics: r.metrics, Sources: one(source), Store: r.store, Sinks: sinks, Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A process that does not own the fabric stands by: it says so, is ready, and writes nothing.
func TestStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g, owner := newRig(), graphOf(t, "f", "torus:4x4x4"), newTurn()
		f := r.shared(t, g, owner, &polls{graph: g})
		check := func(when string, metric float64, state string, stored bool) {
			t.Helper()
			synctest.Wait()
			if n := testutil.ToFloat64(r.metrics.owner.WithLabelValues("f")); n != metric {
				t.Errorf("%s: giverny_pipeline_owner is %v, want %v", when, n, metric)
			}
			if got := f.State(); got != state && (state != "" || !strings.HasPrefix(got, "the newest interval ended ")) { // the data are of another year
				t.Errorf("%s: state %q, want %q", when, got, state)
			}
			if err := f.Ready(t.Context()); metric == 0 && err != nil {
				t.Errorf("%s: not ready: %v", when, err)
			}
			unknown := 0.
			for _, reason := range schema.UnknownReasons {
				unknown += testutil.ToFloat64(r.metrics.unknown.WithLabelValues("f", string(reason)))
			}
			age := testutil.ToFloat64(r.metrics.intervalAge.WithLabelValues("f"))
			if metric == 0 && (unknown != 0 || !math.IsNaN(age)) || metric == 1 && !(age < 10) {
				t.Errorf("%s: %v reasons why the state is unknown, the last interval %v s ago", when, unknown, age)
			}
			if n := len(r.store.stored("f")); (n > 0) != stored {
				t.Errorf("%s: %d intervals stored", when, n)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := f.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		const standby = "standby: this process does not own the fabric: another one analyses it, unless faults name Kafka or its consumer group"
		time.Sleep(10 * time.Second)
		check("before", 0, standby, false)
		unowned := func(when string, trouble error, want float64) {
			t.Helper()
			owner.mu.Lock()
			owner.trouble = trouble
			owner.mu.Unlock()
			time.Sleep(10 * time.Second)
			if got := testutil.ToFloat64(r.metrics.unknown.WithLabelValues("f", noOwner)); got != want {
				t.Errorf("%s: no_owner is %v", when, got)
			}
		}
		unowned("another process owns it", nil, 0)
		unowned("no process owns it", errors.New("the coordinator does not answer"), 1)
		owner.grant()
		unowned("as the owner", errors.New("the coordinator does not answer"), 0)
		unowned("again", nil, 0)
		time.Sleep(10 * time.Second)
		check("as the owner", 1, "", true)
		r.store.breaks("f", errors.New("the store is away"))
		time.Sleep(15 * time.Second)
		if f.Ready(t.Context()) == nil {
			t.Error("ready with a store that is away")
		}
		owner.askBack()
		check("after", 0, standby, true)
		stop()
		running.Wait()
	})
}

// The fabric goes from process to process, given back or lost midway: every
// interval is stored and announced once, and regions keep their identity.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
		log, topic := &polls{graph: g}, &follower{sink{name: "topic"}}
		owners := []*turn{newTurn(), newTurn()}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, owner := range owners {
			f := r.shared(t, g, owner, log, topic)
			running.Go(func() {
				if err := f.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		for i := range 10 {
			owner := owners[i%2]
			owner.grant()
			time.Sleep(time.Duration(10+i)*time.Second + time.Duration(i)*77*time.Millisecond)
			if i%3 == 0 {
				owner.lose()
				time.Sleep(flushTimeout + time.Second) // until it notices, as a lease ends everywhere before another begins
			} else {
				owner.askBack()
			}
		}
		owners[0].grant()
		time.Sleep(30 * time.Second)
		stop()
		running.Wait()
		results := r.store.stored("f")
		stored := startsOf(results)
		if len(stored) < 100 || len(gaps(stored)) > 0 || !slices.Equal(topic.starts(), stored) {
			t.Errorf("%d stored without %v, %d announced without %v", len(stored), gaps(stored), len(topic.starts()), gaps(topic.starts()))
		}
		ids := map[uint64]bool{}
		for _, result := range results {
			for _, region := range result.Regions {
				ids[region.ID] = true
			}
		}
		if len(ids) != 1 {
			t.Errorf("%d identities of one region over 11 turns", len(ids))
		}
	})
}

// rester is a sink that counts how often it was told to rest.
type rester struct {
	sink
	rests atomic.Int32
}

func (r *rester) Rest() { r.rests.Add(1) }

// A sink that acts on the cluster learns when the fabric has another owner.
func TestSinksRestWithoutTheFabric(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g, owner := newRig(), graphOf(t, "f", "torus:4x4x4"), newTurn()
		acts := &rester{sink: sink{name: "acts"}}
		f := r.shared(t, g, owner, &polls{graph: g}, acts)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := f.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		owner.grant()
		time.Sleep(10 * time.Second)
		before := acts.rests.Load()
		owner.askBack()
		synctest.Wait()
		if len(acts.starts()) == 0 || acts.rests.Load() != before+1 {
			t.Errorf("%d results, rested %d times as the owner and %d times after", len(acts.starts()), before, acts.rests.Load())
		}
		stop()
		running.Wait()
	})
}

// Without the ownership nothing reaches the store or the followers, and a write that is
// under way when the ownership ends is cut off.
func TestGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner, store, topic := newTurn(), newMemory(), &follower{sink{name: "topic"}}
		screen := &sink{name: "screen"}
		deps := guarded(Deps{Store: store, Owner: owner, Sinks: []Sink{topic, screen}})
		g := graphOf(t, "f", "torus:4x4x4")
		result := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "f", GraphVersion: g.Version(), Interval: schema.Interval{StartNanos: epoch, DurationNanos: second}}}
		put := deps.Sinks[0].Put
		if err := errors.Join(deps.Store.StoreGraph(t.Context(), g)); !errors.Is(err, kafka.ErrFenced) || len(store.graphs) > 0 {
			t.Errorf("a graph without the ownership: %v", err)
		}
		if err := deps.Store.Put(t.Context(), result); !errors.Is(err, kafka.ErrFenced) || len(store.stored("f")) > 0 {
			t.Errorf("a result without the ownership: %v", err)
		}
		if err := put(t.Context(), result); err != nil || topic.calls > 0 {
			t.Errorf("an announcement without the ownership is the next owner's; %d calls, %v", topic.calls, err)
		}
		if err := deps.Sinks[1].Put(t.Context(), result); err != nil || screen.calls != 1 {
			t.Errorf("what shows the newest is not guarded: %d calls, %v", screen.calls, err)
		}
		owner.grant()
		err := errors.Join(deps.Store.StoreGraph(t.Context(), g), deps.Store.Put(t.Context(), result), put(t.Context(), result))
		if err != nil || len(store.stored("f")) != 1 || topic.calls != 1 {
			t.Errorf("the owner's: %v", err)
		}
		away := errors.New("away")
		topic.fails = func(int) error { return away }
		if err := put(t.Context(), result); !errors.Is(err, away) {
			t.Errorf("a fault of the topic: %v", err)
		}
		slow := &guardedFollower{&hanging{}, owner}
		time.AfterFunc(time.Second, owner.lose)
		began := time.Now()
		if err := slow.Put(t.Context(), result); err != nil || time.Since(began) != time.Second {
			t.Errorf("a write under way: %v after %v", err, time.Since(began))
		}
	})
}

// hanging is a follower whose writes never end.
type hanging struct{ follower }

func (h *hanging) Put(ctx context.Context, _ *schema.IntervalResult) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestWhileOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner, broken := newTurn(), errors.New("broken")
		owner.grant()
		if err := WhileOwner(t.Context(), owner, func(context.Context) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("a fault: %v", err)
		}
		owner.grant()
		if err := WhileOwner(t.Context(), owner, func(context.Context) error { return nil }); err != nil {
			t.Errorf("an end by itself: %v", err)
		}
		owner.grant()
		var runs []string
		began := time.Now()
		err := WhileOwner(t.Context(), owner, func(owned context.Context) error {
			runs = append(runs, time.Since(began).String())
			switch len(runs) {
			case 1: // the lease ran out before the loss is known
				go func() { time.Sleep(minPause / 2); owner.lose(); owner.grant() }()
				return fmt.Errorf("write: %w", kafka.ErrFenced)
			case 2: // lost
				time.AfterFunc(time.Second, func() { owner.lose(); owner.grant() })
				<-owned.Done()
				return owned.Err()
			}
			return nil
		})
		if got := strings.Join(runs, " "); err != nil || got != "0s 1s 2s" {
			t.Errorf("began at %s: %v", got, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		owner.lose()
		if err := WhileOwner(ctx, owner, func(context.Context) error { return broken }); err != nil {
			t.Errorf("without the ownership until the end: %v", err)
		}
	})
}

// A process that lost the ownership while intervals lacked late readings leaves their completion to the next owner: it does
// not go back to them when it is the owner again, long after.
func TestLateReadingsAreTheNextOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g, b := newRig(), graphOf(t, "f", "torus:4x4x4"), &broker{}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 4 {
			a := &spooler{broker: b, graph: g, name: fmt.Sprintf("n%d", i), share: i, all: 4, perDrain: 20}
			if i == 3 {
				a.cut = func(since time.Duration) bool { return since > 30*time.Second && since < 40*time.Second }
			}
			wg.Go(func() { a.run(ctx) })
		}
		began, was, next := time.Now(), newTurn(), newTurn()
		was.grant()
		wg.Go(func() { _ = r.shared(t, g, was, &logSource{broker: b}).Run(ctx) })
		wg.Go(func() { _ = r.shared(t, g, next, &logSource{broker: b}).Run(ctx) })
		time.Sleep(41 * time.Second)
		pass := func(from, to *turn) (rewinds float64) {
			from.askBack()
			to.grant()
			time.Sleep(200 * time.Second)
			return testutil.ToFloat64(r.metrics.rewinds.WithLabelValues("f"))
		}
		completed := pass(was, next)
		if again := pass(next, was); completed == 0 || again > completed {
			t.Errorf("%v rewinds of the next owner, %v in the end", completed, again)
		}
		cancel()
		wg.Wait()
		checkWhole(t, g, r.store.stored("f"), began, 400)
	})
}
