// Package pipeline runs the analysis of a fabric: sources feed it, and every
// interval's result goes to the sinks, to the store first. Live and replayed data
// take this one path. Each fabric is supervised alone: a fault of a fabric, of one
// of its sources or of a sink is a state of that part, with a metric and a
// readiness fault, and is retried with back-off; it ends nothing else. The
// analysis itself is package analysis, which is pure; this package holds its
// goroutines, and neither parses nor decides anything.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Source brings counters and events into a fabric's analysis.
type Source interface {
	Name() string
	// Run feeds the intake until ctx ends or there is no more, and then returns
	// nil. An error is retried, with the same intake.
	Run(ctx context.Context, in *Intake) error
}

// Rewinder is a source that can begin at an earlier place than the one committed:
// with what was sent at or after an instant, or earlier. BeginAt comes before Run.
type Rewinder interface {
	BeginAt(at time.Time)
}

// Committer is a source that remembers how far it has been read. Commit says
// that all up to an offset of its own is stored.
type Committer interface {
	Commit(ctx context.Context, offset int64) error
}

// Deps are what a fabric's pipeline works with. All but Sinks and Owner are required.
type Deps struct {
	Log     *slog.Logger
	Metrics *Metrics
	// Sources makes the sources for one run; after a fault there is another.
	Sources func() []Source
	Store   Store
	// Sinks take each result after the store has it, side by side.
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
	// The next run ignores intervals stored from here on; 0: it uses all.
	futureNanos int64
	watch       *watch
	held        hold // of the run before, which may have ended with the ownership because Kafka was away

	completion *completion // of the run that goes on
	standby    atomic.Bool

	mu        sync.Mutex // guards what follows
	graph     *topology.Graph
	intake    *Intake   // of the run that goes on; nil between runs
	discarded discarded // by the runs that have ended
	woken     chan struct{}
}

// New makes the pipeline of a fabric in its first version.
func New(g *topology.Graph, cfg analysis.Config, deps Deps) (*Fabric, error) {
	core, err := analysis.New(g, cfg) // to find out now whether that can be done
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
	log.Info("analysis: how regions are found", "method", core.Method())
	return &Fabric{name: g.Fabric(), cfg: cfg, deps: deps, log: log, graph: g, woken: make(chan struct{}, 1),
		completion: &completion{withinNanos: int64(cfg.CompleteWithin), intervalNanos: int64(cfg.Window.Interval)},
		health:     newHealth(g.Fabric(), deps.Metrics, log),
		watch:      newWatch(g.Fabric(), cfg.Window.Interval, cfg.Lateness(), deps.Metrics, log)}, nil
}

// Name of the fabric.
func (f *Fabric) Name() string { return f.name }

// Ready is nil while every part works and intervals are stored, else it says what
// does not, and why. A process that stands by is ready.
func (f *Fabric) Ready(context.Context) error {
	if f.standby.Load() {
		return nil
	}
	return errors.Join(f.health.err(), f.watch.err())
}

// Status is the state of the network now: unknown while no interval is stored,
// whatever the last one said.
func (f *Fabric) Status() schema.NetworkForecast { return f.watch.status() }

// State says that this process does not own the fabric, what its intervals wait for,
// or which are incomplete; empty: nothing of that.
func (f *Fabric) State() string {
	if f.standby.Load() {
		return "standby: this process does not own the fabric: another one analyses it, or Kafka is away"
	}
	f.mu.Lock()
	in := f.intake
	f.mu.Unlock()
	if in == nil {
		return ""
	}
	return in.State()
}

// Graph is the version of the fabric that is in force, or will be with the next
// run.
func (f *Fabric) Graph() *topology.Graph {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.graph
}

// SetGraph takes a new version of the fabric into force: intervals that have
// closed keep the old one, all others get the new one. A fabric that waits
// because of its topology tries again at once.
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

// partAnalysis is the part of the health that is the run as a whole.
const partAnalysis = "analysis"

// analyse is Run of the owner.
func (f *Fabric) analyse(ctx context.Context) error {
	group, running := errgroup.WithContext(ctx)
	watching, stop := context.WithCancel(running)
	group.Go(func() error { f.watch.run(watching); return nil })
	group.Go(func() error { defer stop(); f.runAgain(running); return nil })
	return group.Wait()
}

// runAgain runs the analysis until ctx is done or its source ends, and after a fault again, with a back-off
// that a new topology cuts short.
func (f *Fabric) runAgain(ctx context.Context) {
	pauses := restarts()
	pauses.Woken = f.woken
	_ = pauses.Do(ctx, func() error { return f.runRewinding(ctx) }, func(err error, _ int, pause time.Duration) {
		if future, ok := errors.AsType[*FutureError](err); ok {
			f.futureNanos = future.NowNanos
			f.log.Warn("analysis: stored intervals lie in the future, going on before them", "stored_up_to", future.LastEnd.UTC())
			return
		}
		f.health.failed(partAnalysis, err, pause)
	})
}

// runRewinding runs the analysis, and at once again from where stored intervals are to be completed.
func (f *Fabric) runRewinding(ctx context.Context) error {
	for {
		err := f.run(ctx, false)
		back, ok := errors.AsType[*rewind](err)
		if !ok || ctx.Err() != nil {
			return err
		}
		f.deps.Metrics.rewinds.WithLabelValues(f.name).Inc()
		f.log.Info("analysis: going back to complete stored intervals", "from", time.Unix(0, back.fromNanos).UTC())
	}
}

// Pauses between the tries of a part that fails, and how long it must run to count as working again.
const (
	minPause   = time.Second
	maxPause   = time.Minute
	worksAfter = 5 * time.Second
)

// restarts is when what is to go on is begun again after a fault.
func restarts() retry.Backoff {
	return retry.Backoff{Min: minPause, Max: maxPause, HealthyAfter: 2 * maxPause}
}

// RunOnce analyses until the sources have no more. What fails ends it.
func (f *Fabric) RunOnce(ctx context.Context) error { return f.run(ctx, true) }

// run resumes from the store and runs until something fails, or stored intervals
// are to be completed. once says that a source that fails is not begun again.
func (f *Fabric) run(ctx context.Context, once bool) error {
	defer f.health.upUnlessFailing(partAnalysis)()
	resumed := f.watch.resuming()
	r, err := f.resume(ctx, f.completion.going)
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
	group.Go(func() error { return f.feed(running, in, r, once) })
	group.Go(func() error { return out.storeAll(ctx) })
	for _, s := range out.sinks {
		group.Go(func() error { return s.run(running) }) // one that fails must not hold up the next run
	}
	return errors.Join(group.Wait(), in.fault())
}

func (f *Fabric) begin(in *Intake) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.intake, in.before = in, f.discarded
	in.setGraph(f.graph) // it may have come meanwhile
}

func (f *Fabric) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.discarded = f.intake.before.with(f.intake.core) // its sources have ended
	f.held = f.intake.late.hold
	f.intake = nil
}

// feed runs the sources side by side until all have ended, and then closes the
// intake. Unless once is set, a source that fails is begun again, while the others
// go on.
func (f *Fabric) feed(ctx context.Context, in *Intake, r *resumed, once bool) error {
	defer in.close()
	group, running := errgroup.WithContext(ctx)
	for _, s := range f.deps.Sources() {
		in.register(s)
		if s, ok := s.(Rewinder); ok && r.back != nil {
			s.BeginAt(r.beginAt())
		}
		group.Go(func() error { return f.supervise(running, in, s, once) })
	}
	return group.Wait()
}

// supervise runs a source, and unless once is set again when it fails. It returns nil when the source has
// ended or is to stop, and the fault of the analysis that it feeds.
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

// guard turns a panic into an error: a broken invariant in one fabric must not
// end the others.
func guard(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}
