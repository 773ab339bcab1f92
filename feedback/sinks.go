package feedback

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/giverny/giverny/feedback/notice"
	"github.com/giverny/giverny/feedback/score"
	"github.com/giverny/giverny/feedback/webhook"
	"github.com/giverny/giverny/schema"
)

// Sink accepts the results of one fabric; see package pipeline.
type Sink interface {
	Name() string
	Put(ctx context.Context, r *schema.IntervalResult) error
}

// Sinks lists the sinks of a fabric's results.
func (h *Hub) Sinks(fabric string) (sinks []Sink) {
	if len(h.cfg.Fabrics) > 0 && !slices.Contains(h.cfg.Fabrics, fabric) {
		return nil
	}
	if len(h.takers) > 0 || h.alerts != nil {
		sinks = append(sinks, &live{hub: h, fabric: fabric})
	}
	for _, w := range h.webhooks {
		sinks = append(sinks, &follower{w, fabric, h.deps.Shared})
	}
	return sinks
}

// live feeds the consumers that need only the newest result.
type live struct {
	hub    *Hub
	fabric string
	past   bool // the last result was too old
	region regionOfNode
}

// Name of the sink.
func (l *live) Name() string { return "feedback" }

// Rest drops the state of the fabric: its next owner acts on it.
func (l *live) Rest() {
	if l.hub.alerts != nil {
		l.hub.alerts.Forget(l.fabric)
	}
	for _, t := range l.hub.takers {
		t.forget(l.fabric)
	}
}

// Put scores the fabric's nodes and passes the scores on without blocking. Results of an analysis that is catching
// up are skipped: what they report has ended or will be found again in current ones.
func (l *live) Put(_ context.Context, r *schema.IntervalResult) error {
	h := l.hub
	age, limit := time.Since(time.Unix(0, r.Snapshot.Interval.EndNanos())), h.deps.MaxAge[l.fabric]
	past := limit > 0 && age > limit
	if past != l.past {
		l.past = past
		h.log.Info("feedback: catching up with past intervals, taking no action on them", "fabric", l.fabric, "catching_up", past, "age", age.Round(time.Second), "limit", limit)
	}
	if past {
		h.skipped.WithLabelValues(skippedPast).Inc()
		return nil
	}
	if h.alerts != nil {
		h.alerts.Take(r)
	}
	if len(h.takers) == 0 {
		return nil
	}
	g := h.graph(r.Snapshot.Fabric, r.Snapshot.GraphVersion)
	if g == nil {
		h.skipped.WithLabelValues(skippedVersion).Inc()
		h.log.Warn("feedback: interval skipped, its version of the fabric is not loaded; check the topology file of this process", "fabric", r.Snapshot.Fabric, "version", fmt.Sprintf("%016x", r.Snapshot.GraphVersion))
		return nil
	}
	set := score.Of(g, r, h.cfg.Score)
	l.region = l.region.next(set, r.Silent)
	for _, t := range h.takers {
		s := scoresFor(set, t.names)
		s.Held = l.region.held(r.Silent, t.names)
		t.take(s)
	}
	return nil
}

// follower is the sink of one fabric for a webhook; it processes every interval.
type follower struct {
	hook   *webhook.Webhook
	fabric string
	shared bool
}

// Name of the sink.
func (f *follower) Name() string { return "webhook " + f.hook.Name() }

// Put queues the notices of a result.
func (f *follower) Put(ctx context.Context, r *schema.IntervalResult) error {
	return f.hook.Put(ctx, r)
}

// Last is the start of the last interval whose notices are on disk. A process that takes a fabric over for the first time
// has none, since each process has its own queue: it replays the last hour, with the same idempotency keys, so that open
// incidents continue and can end.
func (f *follower) Last(context.Context) (int64, error) {
	last, err := f.hook.Last(f.fabric)
	if last == 0 && err == nil && f.shared {
		last = time.Now().Add(-notice.FlapWindow).UnixNano()
	}
	return last, err
}
