package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
)

// analyser reads one fabric's partitions, analyses them and stores the results.
// Two consumers and a clock feed the core in turn; a goroutine of its own
// stores what comes out. Offsets are committed once everything before them is
// stored.
type analyser struct {
	fabric   fabric
	producer *kafka.Producer
	db       *store.DB
	log      *slog.Logger
	metrics  *analyserMetrics
	onStored func(*schema.IntervalResult) // may be nil

	counters, events *kafka.Consumer
	outputs          chan output
	used             chan *schema.IntervalResult

	mu          sync.Mutex // guards what follows
	core        *analysis.Core
	decoder     envelope.Decoder
	batch       schema.CounterBatch
	taken       [topics]offsetQueue
	newestNanos int64
}

// The topics that an analyser reads.
const (
	counterTopic = iota
	eventTopic
	topics
)

// output is a result, and for each topic the offset up to which nothing is
// needed any more once it is stored; -1: nothing new.
type output struct {
	result  *schema.IntervalResult
	through [topics]int64
}

func newAnalyser(p *process, f fabric, metrics *analyserMetrics) (*analyser, error) {
	core, err := analysis.New(f.graph, f.Analysis)
	if err != nil {
		return nil, fmt.Errorf("fabric %q: %w", f.Name, err)
	}
	producer := kafka.NewProducer(p.client)
	consumer := func(kind envelope.Kind) *kafka.Consumer {
		return kafka.NewConsumer(p.client, producer, kafka.Assignment{Kind: kind, Fabric: f.Name, Partition: f.Partition})
	}
	a := &analyser{fabric: f, producer: producer, db: p.db, log: p.log.With("fabric", f.Name), metrics: metrics,
		counters: consumer(envelope.Counters), events: consumer(envelope.Events), core: core}
	const waiting = 4 // results that may wait for the store
	a.outputs, a.used = make(chan output, waiting), make(chan *schema.IntervalResult, waiting+2)
	metrics.declare(f.Name, core.Drops())
	return a, nil
}

// Run analyses until ctx is cancelled or the data cannot be of this fabric.
// Results that are finished by then are still stored.
func (a *analyser) Run(ctx context.Context) error {
	if err := a.db.StoreGraph(ctx, store.GraphOf(a.fabric.graph, time.Now().UnixNano())); err != nil {
		return err
	}
	if err := a.resume(ctx); err != nil {
		return err
	}
	group, running := errgroup.WithContext(ctx)
	var feeding sync.WaitGroup
	for _, feed := range []func(context.Context) error{
		func(ctx context.Context) error { return a.counters.Run(ctx, a.takeCounters) },
		func(ctx context.Context) error { return a.events.Run(ctx, a.takeEvents) },
		a.tick,
	} {
		feeding.Add(1)
		group.Go(func() error {
			defer feeding.Done()
			return feed(running)
		})
	}
	group.Go(func() error {
		feeding.Wait()
		close(a.outputs)
		return nil
	})
	group.Go(func() error { return a.storeAll(ctx) })
	return group.Wait()
}

// takeCounters gives a batch of counters to the core. What cannot be read, or is
// of another fabric, goes to the dead letters and costs nothing else.
func (a *analyser) takeCounters(ctx context.Context, m kafka.Message) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.decoder.Counters(m.Payload, &a.batch); err != nil {
		return err
	}
	err := a.core.Add(&a.batch)
	if errors.Is(err, analysis.ErrWrongTopology) {
		return err
	}
	if err != nil {
		return &kafka.Rejection{Err: err}
	}
	newest := int64(0)
	for _, t := range a.batch.TimeNanos {
		newest = max(newest, t)
	}
	a.newestNanos = max(a.newestNanos, newest)
	a.taken[counterTopic].push(m.Offset, newest)
	a.metrics.rows.WithLabelValues(a.fabric.Name).Add(float64(a.batch.Rows()))
	return a.handOn(ctx)
}

func (a *analyser) takeEvents(_ context.Context, m kafka.Message) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	events, err := a.decoder.Events(m.Payload, nil)
	if err != nil {
		return err
	}
	newest := int64(0)
	for _, e := range events {
		if e.Fabric != a.fabric.Name {
			return &kafka.Rejection{Err: fmt.Errorf("event of fabric %q: %w", e.Fabric, analysis.ErrOtherFabric)}
		}
		newest = max(newest, e.TimeNanos)
	}
	for _, e := range events {
		a.core.AddEvent(e)
	}
	a.taken[eventTopic].push(m.Offset, newest)
	return nil
}

// liveIntervals is for how many intervals after the newest reading the clock
// still closes intervals: replayed data are older than that, and a fabric that
// has fallen silent for longer has nothing to say.
const liveIntervals = 10

// tick tells the core the time several times an interval: the instant up to
// which everything in Kafka has been read, so that a backlog, or a broker that is
// away, closes nothing before its readings are here.
func (a *analyser) tick(ctx context.Context) error {
	ticker := time.NewTicker(max(a.fabric.Interval()/8, 50*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			upTo := a.counters.ReadUpTo().UnixNano()
			if upTo <= 0 { // not known yet
				continue
			}
			if err := a.advance(ctx, upTo); err != nil {
				return err
			}
		}
	}
}

func (a *analyser) advance(ctx context.Context, upToNanos int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if upToNanos-a.newestNanos >= liveIntervals*a.fabric.Interval().Nanoseconds() {
		return nil
	}
	a.core.Advance(upToNanos, time.Now().UnixNano())
	return a.handOn(ctx)
}

// handOn passes finished results to the store; a.mu is held.
func (a *analyser) handOn(ctx context.Context) error {
	for {
		select {
		case r := <-a.used:
			a.core.Recycle(r)
			continue
		default:
		}
		r := a.core.Next()
		if r == nil {
			a.metrics.drops(a.fabric.Name, a.core.Drops())
			return nil
		}
		out := output{result: r}
		for i := range a.taken {
			out.through[i] = a.taken[i].through(a.core.LowWater())
		}
		select {
		case a.outputs <- out:
		case <-ctx.Done():
			return nil // made again after the restart
		}
	}
}

// storeAll stores every result in order. After the stop it goes on for a while
// with what is finished.
func (a *analyser) storeAll(ctx context.Context) error {
	flush, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(flushTimeout, cancel) })()
	for out := range a.outputs {
		if err := a.storeOne(flush, out); err != nil {
			if flush.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case a.used <- out.result:
		default: // the garbage collector takes it
		}
	}
	return nil
}

// flushTimeout bounds how long finished results are still stored after the stop.
const flushTimeout = 5 * time.Second

func (a *analyser) storeOne(ctx context.Context, out output) error {
	r := out.result
	if err := storeResult(ctx, a.db, r); err != nil {
		return err
	}
	a.metrics.stored(r)
	if err := a.announce(ctx, r); err != nil {
		return err
	}
	for i, c := range [topics]*kafka.Consumer{a.counters, a.events} {
		if out.through[i] < 0 {
			continue
		}
		if err := c.CommitThrough(ctx, out.through[i]); err != nil {
			return err
		}
	}
	if a.onStored != nil {
		a.onStored(r)
	}
	return nil
}

// announce puts the regions of an interval into Kafka for those who act on them.
func (a *analyser) announce(ctx context.Context, r *schema.IntervalResult) error {
	var enc envelope.Encoder
	payload, err := enc.Regions(nil, &envelope.RegionSet{Fabric: a.fabric.Name, GraphVersion: r.Snapshot.GraphVersion, Interval: r.Snapshot.Interval, Regions: r.Regions})
	if err != nil {
		a.metrics.unannounced.Inc()
		a.log.Warn("regions are stored but not announced", "interval", r.Snapshot.Interval.String(), "error", err)
		return nil
	}
	return a.producer.Produce(ctx, kafka.Record{Fabric: a.fabric.Name, Partition: a.fabric.Partition, Kind: envelope.Regions, Payload: payload})
}

// offsetQueue remembers, for the messages taken and not yet done with, how new
// their newest row is.
type offsetQueue []takenMessage

type takenMessage struct{ offset, newestNanos int64 }

func (q *offsetQueue) push(offset, newestNanos int64) {
	*q = append(*q, takenMessage{offset, newestNanos})
}

// through is the offset of the last message before the first that holds
// something from low on, -1 if there is none; those up to it are forgotten.
func (q *offsetQueue) through(low int64) int64 {
	n, offset := 0, int64(-1)
	for n < len(*q) && (*q)[n].newestNanos < low {
		offset = (*q)[n].offset
		n++
	}
	*q = append((*q)[:0], (*q)[n:]...)
	return offset
}
