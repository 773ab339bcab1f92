package dashboards

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

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

// listen adds a listener until done is called.
func (d *Dashboards) listen(buffer int) (l *listener, done func()) {
	l = &listener{announced: make(chan announcement, buffer)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listeners[l] = struct{}{}
	return l, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.listeners, l)
	}
}

// Name is the dashboards' name as a sink of results.
func (d *Dashboards) Name() string { return "dashboards" }

// Put announces an interval that this process has just stored. The store is not
// polled for a fabric whose intervals arrive this way, until they stop: another
// process may have taken over the fabric.
func (d *Dashboards) Put(_ context.Context, r *schema.IntervalResult) error {
	s := r.Snapshot
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.fabrics[s.Fabric]; f != nil {
		f.fedAt = time.Now()
		d.announce(f, schema.Instant(s.Interval.StartNanos), r.Diagnoses)
	}
	return nil
}

// announce notifies the listeners of an interval that is newer than all before;
// d.mu is held.
func (d *Dashboards) announce(f *fabric, start schema.Instant, diagnoses []schema.Diagnosis) {
	if start <= f.latest {
		return
	}
	f.latest = start
	a := announcement{f.name, start, diagnoses}
	for l := range d.listeners {
		if l.offer(a) {
			continue
		}
		d.metrics.missed.Inc() // a slow client reads it from the store
		l.behind.Store(true)
		l.offer(a) // it may have drained its queue meanwhile, and would otherwise not notice
	}
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

// fed reports whether Put announces a fabric's intervals; d.mu is held.
func (f *fabric) fed(now time.Time) bool { return now.Sub(f.fedAt) < 3*f.interval }

// pollLatest polls for a new interval of a fabric that another process stores,
// and adopts its graph.
func (d *Dashboards) pollLatest(ctx context.Context, f *fabric, now time.Time) {
	d.mu.Lock()
	due := !f.fed(now) && now.Sub(f.polled) >= f.interval/pollsPerInterval
	if due {
		f.polled = now
	}
	d.mu.Unlock()
	if !due {
		return
	}
	stored, err := d.model.LastStored(ctx, f.name)
	if errors.Is(err, read.ErrNotFound) {
		return
	}
	start := schema.Instant(stored.StartNanos)
	d.mu.Lock()
	isNew := err == nil && start > f.latest
	d.mu.Unlock()
	g := d.graphInForce(f)
	var diagnoses []schema.Diagnosis
	if isNew {
		diagnoses, err = d.model.Diagnoses(ctx, f.name, read.SpanOf(stored.Interval), 0)
	}
	if isNew && err == nil && g.Version() != stored.GraphVersion {
		g, err = d.graph(ctx, f, read.Version(stored.GraphVersion))
	}
	if err != nil {
		if ctx.Err() == nil {
			d.metrics.pollErrors.Inc()
			d.log.Debug("dashboards: newest interval not read", "fabric", f.name, "error", err)
		}
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if isNew && !f.fed(now) {
		f.graph = g
		d.announce(f, start, diagnoses)
	}
}
