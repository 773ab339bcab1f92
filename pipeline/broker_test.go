package pipeline

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/giverny/giverny/ingest/clockcheck"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// broker is a log like Kafka's, in order of arrival, and at times away.
type broker struct {
	mu        sync.Mutex
	log       []appended
	down      bool
	committed int
	keep      time.Duration // how long a record is kept; 0: forever
}

type appended struct {
	at    time.Time
	batch *schema.CounterBatch
}

func (b *broker) set(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
}

func (b *broker) produce(batches ...*schema.CounterBatch) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return errAway
	}
	for _, batch := range batches {
		b.log = append(b.log, appended{time.Now(), batch})
	}
	return nil
}

// first is the offset of the first record that is kept; b.mu is held.
func (b *broker) first() int {
	if b.keep == 0 {
		return 0
	}
	return sort.Search(len(b.log), func(i int) bool { return time.Since(b.log[i].at) < b.keep })
}

// fetch returns the records from an offset on, and the offset of the first of them.
func (b *broker) fetch(offset int) ([]appended, int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return nil, offset, errAway
	}
	offset = max(offset, b.first())
	return slices.Clone(b.log[offset:]), offset, nil
}

// logSource reads a broker's log as the Kafka consumer does, and is its own clock
// source.
type logSource struct {
	broker *broker

	mu                 sync.Mutex
	from               time.Time
	readUpTo, answered time.Time
}

func (s *logSource) Name() string { return "log" }

func (s *logSource) BeginAt(at time.Time) { s.from = at }

func (s *logSource) HeldSince(context.Context) (time.Time, error) {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	switch first := s.broker.first(); first {
	case 0:
		return time.Time{}, nil
	case len(s.broker.log):
		return time.Now(), nil
	default:
		return s.broker.log[first].at, nil
	}
}

func (s *logSource) Commit(_ context.Context, offset int64) error {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	s.broker.committed, s.from = int(offset)+1, time.Time{}
	return nil
}

func (s *logSource) begin() int {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	next := s.broker.committed
	if !s.from.IsZero() {
		at := slices.IndexFunc(s.broker.log, func(l appended) bool { return !l.at.Before(s.from) })
		next = min(next, max(at, 0))
	}
	return next
}

func (s *logSource) Run(ctx context.Context, in *Intake) error {
	clock := &clockSource{interval: time.Second, readUpTo: func() time.Time { return s.time(&s.readUpTo) }, answered: func() time.Time { return s.time(&s.answered) }}
	next := s.begin()
	s.mu.Lock()
	s.readUpTo, s.answered = time.Unix(0, 0), time.Unix(0, 0)
	s.mu.Unlock()
	var ticking sync.WaitGroup
	defer ticking.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ticking.Go(func() { clock.Run(ctx, in) })
	for ctx.Err() == nil {
		now := time.Now()
		found, first, err := s.broker.fetch(next)
		if err == nil {
			next = first
			for _, l := range found {
				if err := in.CountersTimed(s, l.batch, int64(next), clockcheck.Times{AppendedNanos: l.at.UnixNano()}); err != nil {
					return err
				}
				next++
			}
			s.mu.Lock()
			s.readUpTo, s.answered = now, now
			s.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return in.fault()
}

func (s *logSource) time(at *time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *at
}

// spooler is an agent that polls its share of the ports every second, and spools
// what the broker does not take.
type spooler struct {
	broker     *broker
	graph      *topology.Graph
	name       string
	share, all int // this one of so many agents
	backoff    time.Duration
	perDrain   int                            // batches that it sends from the spool at a time
	perSecond  int                            // readings in a poll; 0 is 1
	delay      time.Duration                  // from a poll to its batch
	interval   time.Duration                  // as the batches say; 0 is a second
	silent     func(since time.Duration) bool // whether it does not poll; may be nil
	cut        func(since time.Duration) bool // whether it cannot send; may be nil
}

func (s *spooler) run(ctx context.Context) {
	var spool []*schema.CounterBatch
	retryAt, began := time.Time{}, time.Now()
	poll, drain := time.NewTicker(max(s.interval, time.Second)), time.NewTicker(97*time.Millisecond)
	defer poll.Stop()
	defer drain.Stop()
	for n := uint64(1); ; {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
			if s.silent == nil || !s.silent(time.Since(began)) {
				spool = append(spool, s.poll(n, time.Now().Add(-s.delay)))
				n++
			}
		case <-drain.C:
		}
		if len(spool) == 0 || time.Now().Before(retryAt) || s.cut != nil && s.cut(time.Since(began)) {
			continue
		}
		k := min(s.perDrain, len(spool))
		if err := s.broker.produce(spool[:k]...); err != nil {
			retryAt = time.Now().Add(s.backoff)
			continue
		}
		spool = spool[k:]
	}
}

// poll reads every port of the agent's: the stall of link i grows by a share of
// the time of its own, which changes every ten seconds.
func (s *spooler) poll(n uint64, now time.Time) *schema.CounterBatch {
	b := &schema.CounterBatch{Fabric: s.graph.Fabric(), Source: "test", Agent: s.name, Sequence: n, IntervalNanos: int64(max(s.interval, time.Second)), Columns: []schema.CounterColumn{{Name: "gemini.credit_stall_ns"}}}
	for id := range schema.LinkID(s.graph.NumLinks()) {
		l := s.graph.Link(id)
		if int(l.From)%s.all != s.share {
			continue
		}
		for k := max(s.perSecond, 1) - 1; k >= 0; k-- {
			at := now.UnixNano() - int64(k)*second/int64(max(s.perSecond, 1))
			b.PortIndex = append(b.PortIndex, uint32(len(b.Ports)))
			b.TimeNanos = append(b.TimeNanos, at)
			b.Columns[0].Values = append(b.Columns[0].Values, uint64(at-epoch2000)*uint64(id%50)/100)
		}
		b.Ports = append(b.Ports, schema.PortName{Device: s.graph.Device(l.From).Name, Port: l.FromPort})
	}
	return b
}
