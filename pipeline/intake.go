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

// Intake takes what sources read. Its methods are safe for concurrent use; they
// block while the store is behind.
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

	failed  atomic.Pointer[error]          // an error that no further batch can fix; the run ends
	pending atomic.Pointer[topology.Graph] // takes effect before the next batch
	state   atomic.Pointer[string]         // see State

	// mu guards the fields below. It is held while a result waits for the store:
	// code that serves the store must not lock it.
	mu          sync.Mutex
	core        *analysis.Core
	sources     []*sourceState
	newestNanos int64
	nowNanos    int64 // of the last Advance, or of the start
	clocks      *clocks
	before      discarded                // by earlier runs
	finishing   bool                     // Finish is closing intervals
	empty       []*schema.IntervalResult // while finishing: the empty intervals since the last one that measured something
	late        lateness
	unlisted    unlisted
	tickless    tickless
	doubled     doubled
	graphs      map[uint64]*topology.Graph // that pending results may belong to
}

// output is a result with its graph and the offsets to commit once it is stored.
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

// waitingResults is the maximum number of results that wait to be stored.
const waitingResults = 4

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
		clocks:        newClocks(graph.Fabric(), m, h, r.fabric.clocksLogged, r.back != nil),
		late:          r.lateness(),
		unlisted:      unlisted{log: h.log},
		tickless:      tickless{log: h.log},
		doubled:       doubled{log: h.log},
		graphs:        map[uint64]*topology.Graph{graph.Version(): graph},
	}
}

// begins resets the progress of a source, which (re)starts after its committed
// offset.
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
// does not retain the batch. An error rejects only this batch.
func (in *Intake) Counters(s Source, b *schema.CounterBatch, offset int64) error {
	return in.CountersTimed(s, b, offset, clockcheck.Times{})
}

// CountersTimed is Counters with the times of the Kafka record, by which the sender's
// clock is checked.
func (in *Intake) CountersTimed(s Source, b *schema.CounterBatch, offset int64, t clockcheck.Times) error {
	return in.locked(func() error {
		accepted, err := in.core.CheckClock(b, t)
		if err != nil {
			return err
		}
		in.clocks.observe(in.core.Clocks(), t.AppendedNanos)
		if err := in.checkFuture(t.AppendedNanos); err != nil {
			return in.fail(err)
		}
		newest, err := in.add(accepted)
		if err != nil {
			return err
		}
		in.newestNanos = max(in.newestNanos, newest)
		in.watch.readings(b.Agent, t.AppendedNanos)
		in.took(s, offset, newest)
		in.metrics.rows.WithLabelValues(in.fabric).Add(float64(b.Rows()))
		in.drain()
		return nil
	})
}

// add passes an accepted batch to the core, or to the reorder buffer if that is
// active.
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

// release passes on the batches that the buffer no longer needs to hold.
func (in *Intake) release() error {
	for b := in.late.buffer.next(); b != nil; b = in.late.buffer.next() {
		in.inOrder(slices.Min(b.TimeNanos))
		if err := in.core.Take(b); err != nil {
			return err
		}
		in.drain()
	}
	in.noteLost(max(in.newestNanos, in.late.hold.newest))
	return nil
}

// noteLost records which readings intervals lack.
func (in *Intake) noteLost(newest int64) {
	lost := in.core.TakeLost()
	if lost.Rows > 0 && !in.late.rewound {
		in.watch.late(cmp.Or(in.clocks.newestNanos, in.nowNanos) - lost.LastNanos)
	}
	in.late.noteLost(lost, newest)
}

// inOrder tells the core that everything read before an instant has been added,
// since the buffer emits in order. Otherwise, after all were silent, intervals
// would stay open until most devices have reported, and the first devices'
// readings would be too early.
func (in *Intake) inOrder(nanos int64) {
	now := max(in.nowNanos, in.clocks.newestNanos)
	in.core.Advance(min(nanos, now), now)
}

// BrokerAway records that Kafka has not answered since an instant or, if why says so, accepts no records: no
// interval closes until the agents have sent what they spooled during the outage.
func (in *Intake) BrokerAway(why string, sinceNanos, nowNanos int64) {
	in.watch.refusing(why)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.late.brokerAway(why, sinceNanos)
	in.core.Advance(math.MinInt64, nowNanos) // the next input may be as new as this
	in.showState()
}

// State describes what intervals wait for, incomplete intervals, and unusable readings; "" if there is nothing to
// report.
func (in *Intake) State() string {
	if state := in.state.Load(); state != nil {
		return *state
	}
	return ""
}

func (in *Intake) showState() {
	states := []string{in.late.describe(), in.unlisted.describe(), in.tickless.describe(), in.doubled.describe()}
	state := strings.Join(slices.DeleteFunc(states, func(s string) bool { return s == "" }), "; ")
	in.state.Store(&state)
	in.metrics.late(in.fabric, in.late.hold.holding, in.late.completion.intervals())
}

// showDrops shows what has been discarded. That has dozens of reasons, so it is not done for each of ten thousand
// agents' batches.
func (in *Intake) showDrops() {
	d := in.before.with(in.core)
	in.metrics.drops(in.fabric, d)
	in.watch.dropped(d.readings)
	in.tickless.see(d.readings)
}

// liveIntervals is for how many intervals after the newest reading the clock
// closes intervals: replayed data is older than that, and a fabric that is
// silent for longer has no data.
const liveIntervals = 10

// Advance says that everything read before completeNanos has been taken, and what
// time it is. It is for live data.
func (in *Intake) Advance(completeNanos, nowNanos int64) error {
	in.watch.refusing("")
	in.watch.readUpTo(completeNanos)
	return in.locked(func() error {
		defer in.showState()
		defer in.showDrops()
		nowNanos = max(nowNanos, in.clocks.newestNanos) // this host's clock may be behind
		in.nowNanos = nowNanos
		in.core.Advance(math.MinInt64, nowNanos)
		if r := in.late.advance(completeNanos, nowNanos); r != nil {
			r.endNanos = in.core.LastEnd()
			return in.fail(r)
		}
		in.clocks.caughtUp(in.core.Clocks()) // the first Advance means that the backlog has been read
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
		in.drain()
		return nil
	})
}

// Finish closes the open intervals, because the source has ended. It does not
// pass on empty intervals after the last one that measured something.
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
		defer in.showDrops()
		in.drain()
		return nil
	})
}

// isEmpty reports whether nothing was measured in an interval, and nothing happened.
func isEmpty(r *schema.IntervalResult) bool {
	return len(r.Events)+len(r.Jobs)+len(r.Failures)+len(r.Traffic) == 0 && !slices.ContainsFunc(r.Snapshot.Series, func(s schema.Series) bool { return s.Count > 0 })
}

// setGraph puts another version into force before the next input.
func (in *Intake) setGraph(g *topology.Graph) {
	in.pending.Store(g)
}

// fail ends the run with an error that no further batch can fix.
func (in *Intake) fail(err error) error {
	in.failed.Store(&err)
	return err
}

// locked runs one step of the core under the lock. A panic of the core is a fault of the run.
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

// takeGraph applies a pending version, after the results that are ready.
func (in *Intake) takeGraph() error {
	g := in.pending.Swap(nil)
	if g == nil || g.Version() == in.core.Graph().Version() {
		return nil
	}
	in.drain()
	was := in.core.Graph()
	in.graphs = map[uint64]*topology.Graph{was.Version(): was, g.Version(): g} // all results of older versions have been passed on
	in.health.log.Info("analysis: new topology version in force", "version", fmt.Sprintf("%016x", g.Version()), "links", g.NumLinks())
	if err := in.core.SetGraph(g, in.newestNanos); err != nil {
		return err
	}
	in.health.log.Info("analysis: segmentation method", "method", in.core.Method())
	return nil
}

// drain passes on finished results; in.mu is held.
func (in *Intake) drain() {
	for {
		select {
		case r := <-in.used:
			in.core.Recycle(r)
			continue
		default:
		}
		r := in.core.Next()
		if r == nil {
			return
		}
		if in.finishing && isEmpty(r) {
			in.empty = append(in.empty, r)
			continue
		}
		for _, r := range append(in.empty, r) {
			if !in.pass(r) {
				return // they are made again after the restart
			}
		}
		in.empty = nil
	}
}

// pass sends a result to the outlet; false if the run has ended; in.mu is held.
func (in *Intake) pass(r *schema.IntervalResult) bool {
	out := output{result: r, graph: in.graphs[r.Snapshot.GraphVersion]}
	for _, s := range in.sources {
		// While intervals are incomplete, do not commit: after a crash, their readings are read again.
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

// fault returns the error that ended the run; nil if there is none.
func (in *Intake) fault() error {
	if err := in.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (in *Intake) close() { close(in.out) }

// IsFault reports whether an error of the intake is a fault of the run, not of
// the input: then no further batch can be taken.
func (in *Intake) IsFault(err error) bool {
	fault := in.fault()
	return fault != nil && errors.Is(err, fault)
}
