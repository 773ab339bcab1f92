// Package record reports what feedback does: every action and every refusal goes to the
// log, a counter and the audit, and each sink has a state that operators and health
// probes can read. It makes no decisions.
package record

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/giverny/giverny/schema"
)

// Recorder reports for one sink. It is safe for concurrent use.
type Recorder struct {
	sink    string
	log     *slog.Logger
	metrics *Metrics
	trail   *Trail

	mu       sync.Mutex // guards the fields below
	fault    error      // nil: working
	since    time.Time  // start of the fault
	impaired error      // nil: all parts work
	pending  int
}

// New returns the recorder of a sink. reasons are its possible refusal and drop
// reasons, whose counters start at zero.
func New(sink string, reasons []string, m *Metrics, trail *Trail, log *slog.Logger) *Recorder {
	m.declare(sink, reasons)
	return &Recorder{sink: sink, log: log.With("sink", sink), metrics: m, trail: trail}
}

// Sink is the name of the sink.
func (r *Recorder) Sink() string { return r.sink }

// Log is the sink's log.
func (r *Recorder) Log() *slog.Logger { return r.log }

// Acted records an action. It sets the sink and the time.
func (r *Recorder) Acted(a schema.FeedbackAction) {
	a.Sink, a.Time = r.sink, schema.Instant(time.Now().UnixNano())
	level := slog.LevelInfo
	if a.Outcome == schema.FeedbackFailed {
		level = slog.LevelWarn
	}
	r.log.Log(context.Background(), level, "feedback: action", "action", a.Action, "target", a.Target, "outcome", string(a.Outcome),
		"dry_run", a.DryRun, "fabric", a.Fabric, "score", a.Score, "reason", a.Reason, "before", a.Before, "after", a.After)
	r.metrics.actions.WithLabelValues(r.sink, a.Action, string(a.Outcome), fmt.Sprint(a.DryRun)).Inc()
	r.trail.add(a)
}

// Refused records an action that is not taken. reason says why not; the action's own reason why it would have been.
func (r *Recorder) Refused(reason string, a schema.FeedbackAction) {
	a.Outcome, a.Reason = schema.FeedbackRefused, reason+": "+a.Reason
	r.Dropped(reason, 1)
	r.Acted(a)
}

// Dropped only counts refusals or drops.
func (r *Recorder) Dropped(reason string, n int) {
	r.metrics.refused.WithLabelValues(r.sink, reason).Add(float64(n))
}

// Worked records a successful call to the sink's target.
func (r *Recorder) Worked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault != nil {
		r.log.Info("feedback: sink works again", "after", time.Since(r.since).Round(time.Second))
	}
	r.fault = nil
	r.metrics.up.WithLabelValues(r.sink).Set(1)
	r.metrics.success.WithLabelValues(r.sink).SetToCurrentTime()
}

// Rested records that nothing is left to be done, so that a failed call is not retried.
func (r *Recorder) Rested() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault == nil {
		return
	}
	r.log.Info("feedback: nothing left to be done, failed calls are not retried", "failing_for", time.Since(r.since).Round(time.Second))
	r.fault = nil
	r.metrics.up.WithLabelValues(r.sink).Set(1)
}

// Failed records a failed call to the sink's target, which is retried after the pause. A repeated error is logged once.
func (r *Recorder) Failed(err error, pause time.Duration) {
	r.log.Log(context.Background(), r.failed(err), "feedback: sink failed, retrying", "pause", pause, "error", err)
}

// FailedForGood is Failed for a call that is not retried.
func (r *Recorder) FailedForGood(err error) {
	r.log.Log(context.Background(), r.failed(err), "feedback: sink failed, not retrying", "error", err)
}

// failed counts a failed call and returns the level of its log line.
func (r *Recorder) failed(err error) slog.Level {
	r.mu.Lock()
	defer r.mu.Unlock()
	level := slog.LevelError
	if r.fault != nil && r.fault.Error() == err.Error() {
		level = slog.LevelDebug
	}
	if r.fault == nil {
		r.since = time.Now()
	}
	r.fault = err
	r.metrics.up.WithLabelValues(r.sink).Set(0)
	r.metrics.faults.WithLabelValues(r.sink).Inc()
	return level
}

// Impaired records that the sink works but a part of it or of its target failed, such as a member of a cluster; nil: all parts
// work. A repeated error is logged once.
func (r *Recorder) Impaired(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil && r.impaired != nil:
		r.log.Info("feedback: all parts of the sink work again")
	case err != nil && (r.impaired == nil || r.impaired.Error() != err.Error()):
		r.log.Warn("feedback: part of the sink failed, retrying", "error", err)
	}
	if r.impaired = err; err != nil {
		r.metrics.faults.WithLabelValues(r.sink).Inc()
	}
}

// Impairment is what Impaired has recorded; nil: all parts work.
func (r *Recorder) Impairment() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.impaired
}

// Pending sets the number of outstanding changes or deliveries.
func (r *Recorder) Pending(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = n
	r.metrics.pending.WithLabelValues(r.sink).Set(float64(n))
}

// Marked sets the number of marked nodes.
func (r *Recorder) Marked(n int) { r.metrics.marked.WithLabelValues(r.sink).Set(float64(n)) }

// State describes the current failure; empty: healthy.
func (r *Recorder) State() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault == nil {
		return ""
	}
	return fmt.Sprintf("failing for %v, %d pending: %v", time.Since(r.since).Round(time.Second), r.pending, r.fault)
}
