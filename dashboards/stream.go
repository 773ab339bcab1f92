package dashboards

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/giverny/giverny/dashboards/operation"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

type announcement struct {
	Fabric    string             `json:"fabric"`
	Start     schema.Instant     `json:"start"`
	Diagnoses []schema.Diagnosis `json:"diagnoses,omitempty"`
}

// Name of the dashboards as a sink of results.
func (d *Dashboards) Name() string { return "dashboards" }

// Put announces an interval that this process has just stored. A fabric whose
// intervals come this way is not asked for in the store, until they stop coming:
// another process may have taken the fabric over.
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

// announce tells the listeners of an interval that is newer than those before; d.mu
// is held.
func (d *Dashboards) announce(f *fabric, start schema.Instant, diagnoses []schema.Diagnosis) {
	if start <= f.latest {
		return
	}
	f.latest = start
	for l := range d.listeners {
		select {
		case l <- announcement{f.name, start, diagnoses}:
		default:
			d.metrics.missed.Inc() // a slow page asks for the newest anyway
		}
	}
}

// Run looks for the intervals that other processes store and announces them, until
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

// pollsPerInterval bounds how often a fabric with long intervals is asked for.
const pollsPerInterval = 20

// fed says whether Put announces a fabric's intervals; d.mu is held.
func (f *fabric) fed(now time.Time) bool { return now.Sub(f.fedAt) < 3*f.interval }

// pollLatest looks for a new interval of a fabric that other processes store, and
// takes over the graph that it has.
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

// eventStream is the media type of server-sent events.
const eventStream = "text/event-stream"

type streamParameters struct {
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last event that the client has."`
}

// document is the OpenAPI document.
func (d *Dashboards) document(w http.ResponseWriter, r *http.Request, _ *nothing) error {
	operation.WriteJSON(w, r, document)
	return nil
}

// stream announces each interval as a server-sent event until the client or the
// server leaves.
func (d *Dashboards) stream(w http.ResponseWriter, r *http.Request, _ *streamParameters) error {
	flush := http.NewResponseController(w)
	l := make(chan announcement, 8)
	d.mu.Lock()
	d.listeners[l] = struct{}{}
	d.mu.Unlock()
	d.metrics.listeners.Inc()
	defer func() {
		d.mu.Lock()
		delete(d.listeners, l)
		d.mu.Unlock()
		d.metrics.listeners.Dec()
	}()
	w.Header().Set("Content-Type", eventStream)
	w.Header().Set("Cache-Control", "no-store")
	fmt.Fprint(w, ": hello\n\n")
	_ = flush.Flush()
	keepalive := time.NewTicker(15 * time.Second)
	defer keepalive.Stop()
	for {
		select {
		case <-r.Context().Done():
			return nil
		case <-keepalive.C:
			fmt.Fprint(w, ": still here\n\n")
		case a := <-l:
			line, err := json.Marshal(a)
			if err != nil { // a number of a diagnosis that is none: the interval is announced nevertheless
				line, _ = json.Marshal(announcement{Fabric: a.Fabric, Start: a.Start})
			}
			fmt.Fprintf(w, "event: interval\ndata: %s\n\n", line)
		}
		_ = flush.Flush()
	}
}
