package dashboards

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

type announcement struct {
	Fabric    string             `json:"fabric"`
	Start     schema.Instant     `json:"start"`
	Diagnoses []schema.Diagnosis `json:"diagnoses,omitempty"`
}

// listener is a subscriber to the announcements of intervals.
type listener struct {
	announced chan announcement
	behind    atomic.Bool // it missed some announcements
}

// offer queues an announcement if there is room, and reports whether there was.
func (l *listener) offer(a announcement) bool {
	select {
	case l.announced <- a:
		return true
	default:
		return false
	}
}

// announcer announces each interval of a fabric to its listeners, once and in order of time.
type announcer struct {
	missed prometheus.Counter

	mu        sync.Mutex // guards the fields below
	listeners map[*listener]struct{}
	latest    positions // the last announced intervals
}

func newAnnouncer(missed prometheus.Counter) *announcer {
	return &announcer{missed: missed, listeners: map[*listener]struct{}{}, latest: positions{}}
}

// listen adds a listener until done is called.
func (a *announcer) listen(buffer int) (l *listener, done func()) {
	l = &listener{announced: make(chan announcement, buffer)}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listeners[l] = struct{}{}
	return l, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.listeners, l)
	}
}

// announce notifies the listeners of an interval that is newer than all before.
func (a *announcer) announce(fabric string, start schema.Instant, diagnoses []schema.Diagnosis) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if start <= a.latest[fabric] {
		return
	}
	a.latest[fabric] = start
	news := announcement{fabric, start, diagnoses}
	for l := range a.listeners {
		if l.offer(news) {
			continue
		}
		a.missed.Inc() // a slow client reads it from the store
		l.behind.Store(true)
		l.offer(news) // it may have drained its queue meanwhile, and would otherwise not notice
	}
}

// newest returns the last announced intervals.
func (a *announcer) newest() positions {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.latest)
}

// last returns the start of a fabric's last announced interval; 0: none.
func (a *announcer) last(fabric string) schema.Instant {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.latest[fabric]
}

// Name is the dashboards' name as a sink of results.
func (d *Dashboards) Name() string { return "dashboards" }

// Put announces an interval that this process has just stored. The store is not
// polled for a fabric whose intervals arrive this way, until they stop: another
// process may have taken over the fabric.
func (d *Dashboards) Put(_ context.Context, r *schema.IntervalResult) error {
	if f := d.fabrics[r.Snapshot.Fabric]; f != nil {
		now := time.Now()
		f.fedAt.Store(&now)
		d.intervals.announce(f.name, schema.Instant(r.Snapshot.Interval.StartNanos), r.Diagnoses)
	}
	return nil
}

// Run polls the store for intervals of other processes and announces them, until
// ctx is cancelled.
func (d *Dashboards) Run(ctx context.Context) error {
	tick := time.NewTicker(d.cfg.Poll)
	defer tick.Stop()
	for {
		for _, f := range d.order {
			d.pollLatest(ctx, f, time.Now())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// pollsPerInterval limits how often a fabric with long intervals is polled.
const pollsPerInterval = 20

// fed reports whether Put announces a fabric's intervals.
func (f *fabric) fed(now time.Time) bool {
	at := f.fedAt.Load()
	return at != nil && now.Sub(*at) < 3*f.interval
}

// pollLatest polls for a new interval of a fabric that another process stores,
// and adopts its graph.
func (d *Dashboards) pollLatest(ctx context.Context, f *fabric, now time.Time) {
	if f.fed(now) || now.Sub(f.polled) < f.interval/pollsPerInterval {
		return
	}
	f.polled = now
	before := f.graphs.current()
	stored, err := d.model.LastStored(ctx, f.name)
	if errors.Is(err, read.ErrNotFound) {
		return
	}
	start := schema.Instant(stored.StartNanos)
	isNew := err == nil && start > d.intervals.last(f.name)
	g := before
	var diagnoses []schema.Diagnosis
	if isNew {
		diagnoses, err = d.model.Diagnoses(ctx, f.name, read.SpanOf(stored.Interval), 0)
	}
	if isNew && err == nil && g.Version() != stored.GraphVersion {
		g, err = f.graphs.of(ctx, read.Version(stored.GraphVersion))
	}
	if err != nil {
		if ctx.Err() == nil {
			d.metrics.pollErrors.Inc()
			d.log.Debug("dashboards: newest interval not read", "fabric", f.name, "error", err)
		}
		return
	}
	if isNew {
		f.graphs.replace(before, g)
		d.intervals.announce(f.name, start, diagnoses)
	}
}
