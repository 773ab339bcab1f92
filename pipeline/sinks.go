package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Sink takes the results of a fabric, in order of time.
type Sink interface {
	Name() string
	// Put takes a result, and must not retain its snapshot. It is retried with the
	// same result until it returns nil or an error that wraps ErrRefused.
	Put(ctx context.Context, r *schema.IntervalResult) error
}

// Follower is a sink that must not miss an interval: after a restart, or when
// it fell behind, it gets the stored intervals that it lacks, without the
// values of their snapshots.
type Follower interface {
	Sink
	// Last returns the start of the last interval that the sink has; 0 if it has none.
	Last(ctx context.Context) (startNanos int64, err error)
}

// Rester is a sink that acts on the last result until the next one. Rest says that none will come for now, since
// this process no longer owns the fabric.
type Rester interface {
	Sink
	Rest()
}

// ErrRefused means that a sink permanently rejects a result.
var ErrRefused = errors.New("refused")

// Store is the first sink of every fabric, and keeps the state between two
// runs. Its Put returns only after the result is stored, once.
type Store interface {
	StoreGraph(ctx context.Context, g *topology.Graph) error
	Put(ctx context.Context, r *schema.IntervalResult) error
	History
	finder
}

// finder reads stored intervals for a Follower.
type finder interface {
	// FoundBetween returns the intervals that start in [from, to), with their regions
	// and diagnoses, without any values.
	FoundBetween(ctx context.Context, fabric string, fromNanos, toNanos int64) ([]*schema.IntervalResult, error)
}

// storeSink is the store's name as a sink.
const storeSink = "store"

// Reasons for dropping a result to a sink.
const (
	dropFull    = "full"    // no Follower: the sink was too far behind
	dropStopped = "stopped" // no Follower: it did not take it soon after the end of the run
	dropOld     = "old"     // a Follower that is further behind than catchUpMost
)

// flushTimeout is how long finished results are still stored, and passed to the
// sinks, after a stop.
const flushTimeout = 5 * time.Second

// outlet passes results from the intake to the store and on to the sinks.
type outlet struct {
	store   Store
	sinks   []*sinkQueue
	intake  *Intake
	metrics *Metrics
	log     *slog.Logger
	watch   *watch
	graph   uint64 // version known to be stored
	// Of the next results: their revision, and up to where they replace stored ones.
	revision    uint32
	storedNanos int64
}

func newOutlet(deps Deps, in *Intake, log *slog.Logger, h *health, w *watch) *outlet {
	o := &outlet{store: deps.Store, intake: in, metrics: deps.Metrics, log: log, watch: w}
	for _, s := range deps.Sinks {
		o.sinks = append(o.sinks, newSinkQueue(s, deps, in.fabric, log, h))
	}
	return o
}

// storeAll stores all results in order. After a stop it continues for
// flushTimeout with the finished ones.
func (o *outlet) storeAll(ctx context.Context) error {
	flush, cancel := flushContext(ctx)
	defer cancel()
	defer func() {
		for _, s := range o.sinks {
			close(s.queue)
		}
	}()
	for out := range o.intake.out {
		if err := o.storeOne(flush, out); err != nil {
			if flush.Err() != nil {
				return nil
			}
			return err
		}
	}
	return nil
}

// flushContext returns a context that outlives ctx by flushTimeout.
func flushContext(ctx context.Context) (context.Context, context.CancelFunc) {
	flush, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(flushTimeout, cancel) })
	return flush, func() { stop(); cancel() }
}

func (o *outlet) storeOne(ctx context.Context, out output) error {
	r := out.result
	r.Revision = o.revision
	again := r.Snapshot.Interval.StartNanos <= o.storedNanos
	if err := o.put(ctx, out); err != nil {
		if !errors.Is(err, ErrRefused) {
			return err
		}
		o.metrics.refused.WithLabelValues(o.intake.fabric, storeSink).Inc()
		o.log.Error("store: result rejected, interval dropped", "interval", r.Snapshot.Interval.String(), "error", err)
	} else {
		o.metrics.stored(r, again)
		o.watch.stored(r)
	}
	users := new(atomic.Int32)
	users.Store(int32(len(o.sinks)) + 1)
	recycle := func() {
		if users.Add(-1) == 0 {
			select {
			case o.intake.used <- r:
			default: // left to the garbage collector
			}
		}
	}
	for _, s := range o.sinks {
		if _, follows := s.sink.(Follower); again && !follows { // such a sink shows the newest
			recycle()
			continue
		}
		s.offer(queued{r, recycle})
	}
	defer recycle()
	return commitAll(ctx, out.commits)
}

// put stores a result's graph and then the result.
func (o *outlet) put(ctx context.Context, out output) error {
	defer o.watch.storing()()
	if err := o.storeGraph(ctx, out); err != nil {
		return err
	}
	return o.store.Put(ctx, out.result)
}

// storeGraph stores a graph before the first result with it.
func (o *outlet) storeGraph(ctx context.Context, out output) error {
	if out.graph.Version() == o.graph {
		return nil
	}
	if err := o.store.StoreGraph(ctx, out.graph); err != nil {
		return err
	}
	o.graph = out.graph.Version()
	return nil
}

func commitAll(ctx context.Context, commits []commit) error {
	for _, c := range commits {
		if err := c.source.Commit(ctx, c.offset); err != nil {
			return err
		}
	}
	return nil
}

// queued is a result on its way to a sink; done says that the sink no longer
// needs it.
type queued struct {
	result *schema.IntervalResult
	done   func()
}

// waitingForSink is the length of a sink's queue. Further results are dropped;
// a Follower gets them from the store later.
const waitingForSink = 16

// sinkQueue feeds one sink, independently of others.
type sinkQueue struct {
	sink     Sink
	part     string
	fabric   string
	stored   finder
	queue    chan queued
	endNanos int64 // of the last interval that a Follower has; 0: unknown, call Last
	metrics  *Metrics
	log      *slog.Logger
	health   *health
}

func newSinkQueue(s Sink, deps Deps, fabric string, log *slog.Logger, h *health) *sinkQueue {
	return &sinkQueue{sink: s, part: "sink " + s.Name(), fabric: fabric, stored: deps.Store, queue: make(chan queued, waitingForSink),
		metrics: deps.Metrics, log: log, health: h}
}

// offer queues a result without blocking.
func (q *sinkQueue) offer(item queued) {
	select {
	case q.queue <- item:
	default:
		if _, follows := q.sink.(Follower); !follows {
			q.metrics.sinkDropped.WithLabelValues(q.fabric, q.sink.Name(), dropFull).Inc()
		}
		item.done()
	}
}

// run feeds the sink until the queue is closed and empty. After flushTimeout the
// rest is dropped; a Follower gets it from the store later.
func (q *sinkQueue) run(ctx context.Context) error {
	flush, cancel := flushContext(ctx)
	defer cancel()
	follower, _ := q.sink.(Follower)
	for item := range q.queue {
		if follower == nil || q.catchUp(flush, follower, item.result.Snapshot.Interval) {
			if !q.put(flush, item.result) && follower == nil {
				q.metrics.sinkDropped.WithLabelValues(q.fabric, q.sink.Name(), dropStopped).Inc()
			}
		}
		item.done()
	}
	return nil
}

// put retries until the sink takes or rejects the result, and reports whether
// it did so before ctx ended.
func (q *sinkQueue) put(ctx context.Context, r *schema.IntervalResult) bool {
	settled := q.try(ctx, func() error {
		err := q.sink.Put(ctx, r)
		if !errors.Is(err, ErrRefused) {
			return err
		}
		q.metrics.refused.WithLabelValues(q.fabric, q.sink.Name()).Inc()
		q.log.Warn("sink: result rejected, interval skipped", "sink", q.sink.Name(), "interval", r.Snapshot.Interval.String(), "error", err)
		return nil
	})
	if settled {
		q.endNanos = r.Snapshot.Interval.EndNanos()
	}
	return settled
}

// catchUp sends a follower the stored intervals between its last one and the
// current one, and reports whether it has them all.
func (q *sinkQueue) catchUp(ctx context.Context, f Follower, current schema.Interval) bool {
	beforeNanos := current.StartNanos
	if q.endNanos == 0 {
		if !q.try(ctx, func() error {
			last, err := f.Last(ctx)
			if q.endNanos = last + 1; last == 0 { // it has none: nothing to catch up with
				q.endNanos = beforeNanos
			}
			return err
		}) {
			q.endNanos = 0
			return false
		}
	}
	if late := beforeNanos - catchUpMost.Nanoseconds() - q.endNanos; late > 0 {
		n := (late + current.DurationNanos - 1) / current.DurationNanos // whether or not each is stored
		q.metrics.sinkDropped.WithLabelValues(q.fabric, q.sink.Name(), dropOld).Add(float64(n))
		q.log.Warn("sink: intervals dropped, they are too old to catch up with", "sink", q.sink.Name(), "from", time.Unix(0, q.endNanos).UTC(), "intervals", n, "limit", catchUpMost)
		q.endNanos += late
	}
	for q.endNanos < beforeNanos {
		var missed []*schema.IntervalResult
		until := min(beforeNanos, q.endNanos+catchUpSpan.Nanoseconds())
		if !q.try(ctx, func() (err error) {
			missed, err = q.stored.FoundBetween(ctx, q.fabric, q.endNanos, until)
			return err
		}) {
			return false
		}
		for _, r := range missed {
			if !q.put(ctx, r) {
				return false
			}
		}
		q.endNanos = until
	}
	return true
}

// catchUpSpan limits how much is read from the store at a time, catchUpMost how
// far a follower may lag behind and still get everything: older results are of no
// use to consumers that act on them.
const (
	catchUpSpan = 10 * time.Minute
	catchUpMost = 24 * time.Hour
)

// try retries with back-off, and reports whether it succeeded before ctx ended.
func (q *sinkQueue) try(ctx context.Context, do func() error) bool {
	err := retry.Backoff{Min: minPause, Max: maxPause}.Do(ctx, func() error { return guard(do) },
		func(err error, _ int, pause time.Duration) { q.health.failed(q.part, err, pause) })
	if err != nil {
		return false
	}
	q.health.up(q.part)
	return true
}
