// Package pipeline runs the analysis of a fabric: sources feed it, and every
// interval's result goes to the sinks, to the store first. Live and replayed data
// take the same path. Each fabric is supervised separately: a fault of a fabric,
// of one of its sources or of a sink is a state of that part, with a metric and a
// readiness fault, and is retried with back-off; other parts continue. The
// analysis itself is in package analysis, which is pure; this package holds its
// goroutines, and decides only when: in which order readings are taken, how long
// intervals wait for them, and which stored intervals are made again.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/ingest/clockcheck"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Source feeds counters or events into a fabric's analysis.
type Source interface {
	Name() string
	// Run feeds the intake until ctx or the input ends, and then returns nil.
	// After an error it is called again, with the same intake.
	Run(ctx context.Context, in *Intake) error
}

// Rewinder is a source that can start before its committed offset: at or before
// the input that was sent at an instant. Call BeginAt before Run.
type Rewinder interface {
	BeginAt(at time.Time)
}

// Keeper is a Rewinder whose oldest input is deleted after some time. HeldSince
// returns when the first that it still has was sent; zero if none has been deleted
// yet.
type Keeper interface {
	HeldSince(ctx context.Context) (time.Time, error)
}

// Committer is a source that remembers how far it has been read. Commit means
// that everything up to one of its offsets is stored.
type Committer interface {
	Commit(ctx context.Context, offset int64) error
}

// Deps are the dependencies of a Fabric. All but Sinks and Owner are required.
type Deps struct {
	Log     *slog.Logger
	Metrics *Metrics
	// Sources returns the sources for one run; it is called again after a fault.
	Sources func() []Source
	Store   Store
	// Sinks take each stored result, concurrently.
	Sinks []Sink
	// Owner says when this process analyses the fabric; nil: always.
	Owner Owner
}

// Fabric is the pipeline of one fabric.
type Fabric struct {
	name   string
	cfg    analysis.Config
	deps   Deps
	log    *slog.Logger
	health *health
	// The next run ignores intervals stored at or after this; 0: none.
	futureNanos int64
	reachNanos  int64 // how far before an interval its input may begin
	watch       *watch
	held        hold // of the previous run, which may have ended with the ownership because of an outage of Kafka

	completion   *completion                            // outlives runs
	clocksLogged map[clockcheck.Sender]clockcheck.State // the states of clocks as last logged; outlives runs
	standby      atomic.Bool

	mu        sync.Mutex // guards the fields below
	graph     *topology.Graph
	intake    *Intake   // of the current run; nil between runs
	discarded discarded // by the runs that have ended
	woken     chan struct{}
}

// New returns the pipeline of a fabric with its first graph.
func New(g *topology.Graph, cfg analysis.Config, deps Deps) (*Fabric, error) {
	core, err := analysis.New(g, cfg) // fails early if the core cannot be made
	if err != nil {
		return nil, fmt.Errorf("fabric %q: %w", g.Fabric(), err)
	}
	deps.Metrics.declare(g.Fabric(), core.Drops())
	for _, s := range deps.Sinks {
		deps.Metrics.declareSink(g.Fabric(), s.Name())
	}
	if deps.Owner != nil {
		deps = guarded(deps)
	}
	log := deps.Log.With("fabric", g.Fabric())
	log.Info("analysis: segmentation method", "method", core.Method())
	return &Fabric{name: g.Fabric(), cfg: cfg, deps: deps, log: log, graph: g, reachNanos: core.Reach(), woken: make(chan struct{}, 1),
		clocksLogged: map[clockcheck.Sender]clockcheck.State{},
		completion:   &completion{withinNanos: int64(cfg.CompleteWithin), intervalNanos: int64(cfg.Window.Interval)},
		health:       newHealth(g.Fabric(), deps.Metrics, log),
		watch:        newWatch(g.Fabric(), cfg.Window.Interval, cfg.Lateness(), deps.Metrics, log)}, nil
}

// Name is the name of the fabric.
func (f *Fabric) Name() string { return f.name }

// Ready returns nil while every part works and intervals are stored; otherwise
// what does not work, and why. A process on standby is ready.
func (f *Fabric) Ready(context.Context) error {
	if f.standby.Load() {
		return nil
	}
	return errors.Join(f.health.err(), f.watch.err())
}

// Status returns the present state of the network: unknown while no intervals
// are stored, whatever the last one was.
func (f *Fabric) Status() schema.NetworkForecast { return f.watch.status() }

// Standby reports whether this process does not own the fabric. Status then knows nothing.
func (f *Fabric) Standby() bool { return f.standby.Load() }

// State says whether this process does not own the fabric, what its intervals wait
// for, and which are incomplete; "" if there is nothing to report.
func (f *Fabric) State() string {
	if f.standby.Load() {
		return "standby: this process does not own the fabric: another one analyses it, unless faults name Kafka or its consumer group"
	}
	f.mu.Lock()
	in := f.intake
	f.mu.Unlock()
	if in == nil {
		return ""
	}
	states := []string{in.State(), f.watch.old()}
	return strings.Join(slices.DeleteFunc(states, func(s string) bool { return s == "" }), "; ")
}

// Graph returns the version of the fabric that is in force, or will be in the
// next run.
func (f *Fabric) Graph() *topology.Graph {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.graph
}

// SetGraph puts a new version of the fabric into force: closed intervals keep
// the old one, all others get the new one. A fabric that waits to retry, for
// example because of its topology, retries immediately.
func (f *Fabric) SetGraph(g *topology.Graph) error {
	if g.Fabric() != f.name {
		return fmt.Errorf("topology of fabric %q given to %q", g.Fabric(), f.name)
	}
	if _, err := analysis.New(g, f.cfg); err != nil {
		return fmt.Errorf("fabric %q: %w", f.name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.graph = g
	if f.intake != nil {
		f.intake.setGraph(g)
	}
	select {
	case f.woken <- struct{}{}:
	default:
	}
	return nil
}

// partAnalysis names the run as a whole as a part of the health.
const partAnalysis = "analysis"

// analyse is Run while this process is the owner.
func (f *Fabric) analyse(ctx context.Context) error {
	group, running := errgroup.WithContext(ctx)
	watching, stop := context.WithCancel(running)
	group.Go(func() error { f.watch.run(watching); return nil })
	group.Go(func() error { defer stop(); f.runAgain(running); return nil })
	return group.Wait()
}

// runAgain runs the analysis until ctx is done or its sources end, and restarts it after a fault, with a
// back-off that a new topology interrupts.
func (f *Fabric) runAgain(ctx context.Context) {
	pauses := restarts()
	pauses.Woken = f.woken
	_ = pauses.Do(ctx, func() error { return f.runRewinding(ctx) }, func(err error, _ int, pause time.Duration) {
		if future, ok := errors.AsType[*FutureError](err); ok {
			f.futureNanos = future.NowNanos
			f.log.Warn("analysis: stored intervals lie in the future, continuing with the current time", "stored_up_to", future.LastEnd.UTC())
			return
		}
		f.health.failed(partAnalysis, err, pause)
	})
}

// runRewinding runs the analysis, and restarts it immediately if stored intervals have to be completed.
func (f *Fabric) runRewinding(ctx context.Context) error {
	for {
		err := f.run(ctx, false)
		back, ok := errors.AsType[*rewind](err)
		if !ok || ctx.Err() != nil {
			return err
		}
		f.deps.Metrics.rewinds.WithLabelValues(f.name).Inc()
		f.completion.logRewind(f.log, back)
	}
}

// Back-off of a part that fails, and how long it must run to count as working again.
const (
	minPause   = time.Second
	maxPause   = time.Minute
	worksAfter = 5 * time.Second
)

// restarts returns the back-off of restarts after a fault.
func restarts() retry.Backoff {
	return retry.Backoff{Min: minPause, Max: maxPause, HealthyAfter: 2 * maxPause}
}

// RunOnce analyses until the sources end. It returns the first error.
func (f *Fabric) RunOnce(ctx context.Context) error { return f.run(ctx, true) }

// run resumes from the store and runs until something fails, or stored intervals
// have to be completed. once means that a failed source is not restarted.
func (f *Fabric) run(ctx context.Context, once bool) error {
	defer f.health.upUnlessFailing(partAnalysis)()
	resumed := f.watch.resuming()
	sources := f.deps.Sources()
	r, err := f.resume(ctx, f.completion.going, sources)
	if err != nil {
		return err
	}
	resumed()
	group, running := errgroup.WithContext(ctx)
	in := newIntake(r, &f.cfg, f.deps.Metrics, running, f.health, f.watch)
	f.begin(in)
	defer f.end()
	out := newOutlet(f.deps, in, f.log, f.health, f.watch)
	out.revision, out.storedNanos = r.revision, r.storedNanos
	group.Go(func() error { return f.feed(running, in, r, sources, once) })
	group.Go(func() error { return out.storeAll(ctx) })
	for _, s := range out.sinks {
		group.Go(func() error { return s.run(running) }) // a failed sink must not delay the next run
	}
	return errors.Join(group.Wait(), in.fault())
}

func (f *Fabric) begin(in *Intake) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.intake, in.before = in, f.discarded
	in.setGraph(f.graph) // it may have changed meanwhile
}

func (f *Fabric) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.discarded = f.intake.before.with(f.intake.core) // its sources have ended
	f.held = f.intake.late.hold
	f.intake = nil
}

// feed runs the sources concurrently until all have ended, and then closes the
// intake. Unless once is set, it restarts a source that fails, while the others
// continue.
func (f *Fabric) feed(ctx context.Context, in *Intake, r *resumed, sources []Source, once bool) error {
	defer in.close()
	group, running := errgroup.WithContext(ctx)
	for _, s := range sources {
		in.register(s)
		if s, ok := s.(Rewinder); ok && r.back != nil {
			s.BeginAt(r.beginAt())
		}
		group.Go(func() error { return f.supervise(running, in, s, once) })
	}
	return group.Wait()
}

// supervise runs a source and, unless once is set, restarts it when it fails. It returns nil when the
// source has ended or ctx is done, else the fault of the run.
func (f *Fabric) supervise(ctx context.Context, in *Intake, s Source, once bool) error {
	part := "source " + s.Name()
	err := restarts().Do(ctx, func() error {
		in.begins(s)
		fails := f.health.upUnlessFailing(part)
		err := guard(func() error { return s.Run(ctx, in) })
		fails()
		fault := in.fault()
		switch {
		case fault != nil:
			return retry.Permanent(fault)
		case err != nil && once && ctx.Err() == nil:
			return retry.Permanent(err)
		}
		return err
	}, func(err error, _ int, pause time.Duration) { f.health.failed(part, err, pause) })
	if ctx.Err() != nil {
		return in.fault()
	}
	return err
}

// guard converts a panic to an error: a broken invariant in one fabric must not
// stop the others.
func guard(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}
