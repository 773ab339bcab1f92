package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/ingest/clockcheck"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Intake is where sources put what they read. Its methods are safe for
// concurrent use; they block while the store is behind.
type Intake struct {
	metrics       *Metrics
	health        *health
	watch         *watch
	fabric        string
	intervalNanos int64
	running       context.Context // of the run
	tolerance     time.Duration   // of clocks
	out           chan output
	used          chan *schema.IntervalResult

	failed  atomic.Pointer[error]          // what no further batch can mend; the run ends
	pending atomic.Pointer[topology.Graph] // comes into force before the next batch
	state   atomic.Pointer[string]         // see State

	// mu guards what follows. It is held while a result waits for the store: who
	// serves the store must not ask for it.
	mu          sync.Mutex
	core        *analysis.Core
	sources     []*sourceState
	newestNanos int64
	nowNanos    int64 // of the last Advance, or of the start
	clocks      *clocks
	before      discarded                // by earlier runs
	finishing   bool                     // Finish closes intervals
	empty       []*schema.IntervalResult // while it does: those since the last that measured something
	late        lateness
	unlisted    unlisted
	doubled     doubled
	graphs      map[uint64]*topology.Graph // that results may belong to
}

// sourceState is how far a source has been read.
type sourceState struct {
	source Source
	taken  offsetQueue
}

// output is a result, its version of the fabric, and up to where the sources are
// not needed any more once it is stored.
type output struct {
	result  *schema.IntervalResult
	graph   *topology.Graph
	commits []commit
}

// commit is an offset of a source.
type commit struct {
	source Committer
	offset int64
}

// waitingResults may be finished and not yet stored.
const waitingResults = 4

// NoOffset is the offset of what cannot be committed.
const NoOffset = int64(-1)

func newIntake(r *resumed, cfg *analysis.Config, m *Metrics, running context.Context, h *health, w *watch) *Intake {
	graph := r.core.Graph()
	return &Intake{
		metrics:       m,
		health:        h,
		watch:         w,
		fabric:        graph.Fabric(),
		intervalNanos: cfg.Window.Interval.Nanoseconds(),
		running:       running,
		tolerance:     cfg.Clocks.Tolerance(cfg.Window.Interval),
		out:           make(chan output, waitingResults),
		used:          make(chan *schema.IntervalResult, waitingResults+2),
		core:          r.core,
		nowNanos:      time.Now().UnixNano(),
		clocks:        newClocks(graph.Fabric(), m, h),
		late:          r.lateness(),
		unlisted:      unlisted{log: h.log},
		doubled:       doubled{log: h.log},
		graphs:        map[uint64]*topology.Graph{graph.Version(): graph},
	}
}

// begins forgets what a source has read: it begins, first or again, behind what
// was committed.
func (in *Intake) begins(s Source) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, state := range in.sources {
		if state.source == s {
			state.taken = nil
		}
	}
}

func (in *Intake) register(s Source) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.sources = append(in.sources, &sourceState{source: s})
}

// Counters takes a batch; offset is the source's own, or NoOffset. The intake
// keeps nothing of the batch. An error refuses this batch alone.
func (in *Intake) Counters(s Source, b *schema.CounterBatch, offset int64) error {
	return in.CountersTimed(s, b, offset, clockcheck.Times{})
}

// CountersTimed is Counters with the times that Kafka keeps of a record, by which the
// sender's clock is checked.
func (in *Intake) CountersTimed(s Source, b *schema.CounterBatch, offset int64, t clockcheck.Times) error {
	return in.locked(func() error {
		accepted, err := in.core.CheckClock(b, t)
		if err != nil {
			return err
		}
		in.clocks.checked(in.core.Clocks(), t.AppendedNanos)
		if err := in.checkFuture(t.AppendedNanos); err != nil {
			return in.fail(err)
		}
		newest, err := in.add(accepted)
		if err != nil {
			return err
		}
		in.newestNanos = max(in.newestNanos, newest)
		in.watch.readings(b.Agent)
		in.took(s, offset, newest)
		in.metrics.rows.WithLabelValues(in.fabric).Add(float64(b.Rows()))
		return in.drain()
	})
}

// add hands a batch that is accepted to the core, or to the buffer where it is in
// use.
func (in *Intake) add(b *schema.CounterBatch) (newest int64, err error) {
	if b.Rows() == 0 {
		return 0, nil
	}
	newest = slices.Max(b.TimeNanos)
	if in.late.buffer.active() {
		in.late.buffer.add(b)
	} else if err := in.core.Take(b); err != nil {
		return 0, err
	}
	in.late.saw(b, newest)
	return newest, in.release()
}

// release hands on what the buffer need not hold any longer.
func (in *Intake) release() error {
	for b := in.late.buffer.next(); b != nil; b = in.late.buffer.next() {
		in.inOrder(slices.Min(b.TimeNanos))
		if err := in.core.Take(b); err != nil {
			return err
		}
		if err := in.drain(); err != nil {
			return err
		}
	}
	in.noteLost(max(in.newestNanos, in.late.hold.newest))
	return nil
}

// noteLost takes what intervals lack.
func (in *Intake) noteLost(newest int64) {
	lost := in.core.TakeLost()
	if lost.Rows > 0 && !in.late.rewound {
		in.watch.late(cmp.Or(in.clocks.newestNanos, in.nowNanos) - lost.LastNanos)
	}
	in.late.noteLost(lost, newest)
}

// inOrder says that all that was read before an instant has been taken, since the
// buffer gives it out in order: after a silence of all, intervals would stay open
// until most devices have reported, and what those read first would be too early.
func (in *Intake) inOrder(nanos int64) {
	now := max(in.nowNanos, in.clocks.newestNanos)
	in.core.Advance(min(nanos, now), now)
}

// BrokerAway says that Kafka has not answered since an instant: until the agents
// have sent what they spooled meanwhile, no interval closes.
func (in *Intake) BrokerAway(sinceNanos, nowNanos int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.late.brokerAway(sinceNanos)
	in.core.Advance(math.MinInt64, nowNanos) // what comes next may be as new as this
	in.showState()
}

// State says what intervals wait for, or which are incomplete, and whose readings are of no use; empty: none.
func (in *Intake) State() string {
	if state := in.state.Load(); state != nil {
		return *state
	}
	return ""
}

func (in *Intake) showState() {
	states := []string{in.late.describe(), in.unlisted.describe(), in.doubled.describe()}
	state := strings.Join(slices.DeleteFunc(states, func(s string) bool { return s == "" }), "; ")
	in.state.Store(&state)
	in.metrics.late(in.fabric, in.late.hold.holding, in.late.completion.intervals())
}

// liveIntervals is for how many intervals after the newest reading the clock
// still closes intervals: replayed data are older than that, and a fabric that
// has been silent for longer has nothing to say.
const liveIntervals = 10

// Advance says that all that was read by an instant has been taken, and what time
// it is. It is for live data.
func (in *Intake) Advance(completeNanos, nowNanos int64) error {
	in.watch.readUpTo(completeNanos)
	return in.locked(func() error {
		defer in.showState()
		nowNanos = max(nowNanos, in.clocks.newestNanos) // this host's clock may be behind
		in.nowNanos = nowNanos
		in.core.Advance(math.MinInt64, nowNanos)
		if r := in.late.advance(completeNanos, nowNanos); r != nil {
			return in.fail(r)
		}
		if err := in.release(); err != nil {
			return err
		}
		in.unlisted.see(in.core.UnknownPorts())
		in.doubled.see(in.core.DoubledAgents(in.newestNanos - doubledMemory))
		if in.late.hold.holding || completeNanos-in.newestNanos >= liveIntervals*in.intervalNanos {
			return nil
		}
		if err := in.core.CheckTopology(); err != nil {
			return in.fail(err)
		}
		in.core.Advance(completeNanos, nowNanos)
		in.noteLost(in.newestNanos)
		return in.drain()
	})
}

// Finish closes what is open: the source has no more. Its data end with the last
// interval that measured something: an empty one after it is not passed on.
func (in *Intake) Finish() error {
	return in.locked(func() error {
		if err := in.core.CheckTopology(); err != nil {
			return in.fail(err)
		}
		in.late.buffer.flush()
		if err := in.release(); err != nil {
			return err
		}
		end := in.newestNanos + 2*in.intervalNanos
		in.core.Advance(end, end)
		in.finishing = true
		return in.drain()
	})
}

// isEmpty says that nothing was measured in an interval, and nothing happened.
func isEmpty(r *schema.IntervalResult) bool {
	return len(r.Events)+len(r.Jobs)+len(r.Failures)+len(r.Traffic) == 0 && !slices.ContainsFunc(r.Snapshot.Series, func(s schema.Series) bool { return s.Count > 0 })
}

// setGraph takes another version into force, before what comes next.
func (in *Intake) setGraph(g *topology.Graph) {
	in.pending.Store(g)
}

// fail ends the run with an error that no further batch can mend.
func (in *Intake) fail(err error) error {
	in.failed.Store(&err)
	return err
}

// locked runs one step of the core. A panic of the core is a fault of the run.
func (in *Intake) locked(step func() error) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.fault(); err != nil {
		return err
	}
	refused := error(nil)
	if err := guard(func() error {
		if err := in.takeGraph(); err != nil {
			return err
		}
		refused = step()
		return nil
	}); err != nil {
		return in.fail(err)
	}
	return refused
}

// takeGraph applies a new version, after the results that are ready.
func (in *Intake) takeGraph() error {
	g := in.pending.Swap(nil)
	if g == nil || g.Version() == in.core.Graph().Version() {
		return nil
	}
	if err := in.drain(); err != nil {
		return err
	}
	was := in.core.Graph()
	in.graphs = map[uint64]*topology.Graph{was.Version(): was, g.Version(): g} // of older ones all results have been passed on
	in.health.log.Info("analysis: new topology version in force", "version", fmt.Sprintf("%016x", g.Version()), "links", g.NumLinks())
	if err := in.core.SetGraph(g, in.newestNanos); err != nil {
		return err
	}
	in.health.log.Info("analysis: how regions are found", "method", in.core.Method())
	return nil
}

// took notes that a source has been read up to an offset; in.mu is held.
func (in *Intake) took(s Source, offset, newestNanos int64) {
	if offset == NoOffset {
		return
	}
	for _, state := range in.sources {
		if state.source == s {
			state.taken.push(offset, newestNanos)
		}
	}
}

// drain passes finished results on; in.mu is held.
func (in *Intake) drain() error {
	for {
		select {
		case r := <-in.used:
			in.core.Recycle(r)
			continue
		default:
		}
		r := in.core.Next()
		if r == nil {
			d := in.before.with(in.core)
			in.metrics.drops(in.fabric, d)
			in.watch.dropped(d.readings)
			return nil
		}
		if in.finishing && isEmpty(r) {
			in.empty = append(in.empty, r)
			continue
		}
		for _, r := range append(in.empty, r) {
			if !in.pass(r) {
				return nil // made again after the restart
			}
		}
		in.empty = nil
	}
}

// pass gives a result to the outlet, false if the run has ended; in.mu is held.
func (in *Intake) pass(r *schema.IntervalResult) bool {
	out := output{result: r, graph: in.graphs[r.Snapshot.GraphVersion]}
	for _, s := range in.sources {
		// While intervals are incomplete, what completes them is read again after a crash.
		if c, ok := s.source.(Committer); ok && !in.late.completion.pending() {
			if offset := s.taken.through(in.core.LowWater()); offset != NoOffset {
				out.commits = append(out.commits, commit{c, offset})
			}
		}
	}
	select {
	case in.out <- out:
		return true
	case <-in.running.Done():
		return false
	}
}

// fault is what ended the run; nil if nothing did.
func (in *Intake) fault() error {
	if err := in.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (in *Intake) close() { close(in.out) }

// IsFault says whether an error of the intake is the run's, and not of what was
// given: no further batch can be taken.
func (in *Intake) IsFault(err error) bool {
	fault := in.fault()
	return fault != nil && errors.Is(err, fault)
}
