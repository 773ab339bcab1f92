package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/schema"
)

// watch checks a live fabric's freshness against the wall clock, so that metrics
// and readiness are right while nothing arrives.
type watch struct {
	fabric  string
	every   time.Duration
	metrics *Metrics
	log     *slog.Logger

	mu      sync.Mutex // guards what follows
	fresh   freshness
	begun   bool
	metric  map[schema.Metric]bool // those with a coverage series
	unknown schema.UnknownReason   // last logged
	stuck   bool                   // and that the analysis does not catch up, which is known only later
}

func newWatch(fabric string, interval, lateness time.Duration, m *Metrics, log *slog.Logger) *watch {
	return &watch{fabric: fabric, every: min(max(interval/4, 250*time.Millisecond), 5*time.Second), metrics: m, log: log, metric: map[schema.Metric]bool{},
		fresh: newFreshness(interval, lateness, time.Now().UnixNano())}
}

// run checks periodically until ctx ends.
func (w *watch) run(ctx context.Context) {
	w.mu.Lock()
	w.begun, w.fresh.startedNanos = true, time.Now().UnixNano()
	w.mu.Unlock()
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		w.look(time.Now().UnixNano())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// rest resets the metrics, which another process now provides.
func (w *watch) rest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh.resumingNanos = 0
	m := w.metrics
	for _, g := range []*prometheus.GaugeVec{m.network, m.readingAge, m.intervalAge, m.lag} {
		g.WithLabelValues(w.fabric).Set(math.NaN())
	}
	for _, reason := range schema.UnknownReasons {
		m.unknown.WithLabelValues(w.fabric, string(reason)).Set(0)
	}
	for _, state := range []string{"reporting", "silent"} {
		m.agents.WithLabelValues(w.fabric, state).Set(0)
	}
	for metric := range w.metric {
		m.coverage.WithLabelValues(w.fabric, metric.String()).Set(math.NaN())
	}
	for _, g := range []*prometheus.GaugeVec{m.held, m.incomplete} {
		g.WithLabelValues(w.fabric).Set(0)
	}
	m.unknownPast(w.fabric)
}

// look updates the metrics, and logs when the state becomes unknown or known
// again.
func (w *watch) look(nowNanos int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, m := &w.fresh, w.metrics
	now, age := f.status(nowNanos), func(since int64) float64 { return float64(nowNanos-max(since, f.startedNanos)) / 1e9 }
	m.readingAge.WithLabelValues(w.fabric).Set(age(f.readNanos))
	m.intervalAge.WithLabelValues(w.fabric).Set(age(f.storedNanos))
	m.lag.WithLabelValues(w.fabric).Set(f.backlog.lag().Seconds())
	reporting, silent := f.agents(nowNanos)
	m.agents.WithLabelValues(w.fabric, "reporting").Set(float64(reporting))
	m.agents.WithLabelValues(w.fabric, "silent").Set(float64(silent))
	m.state(w.fabric, &now)
	if f.silence(nowNanos) != nil {
		for metric := range w.metric {
			m.coverage.WithLabelValues(w.fabric, metric.String()).Set(0)
		}
		m.unknownPast(w.fabric)
	}
	w.report(now.Unknown)
}

// report logs a change of reason, once, and when it turns out that an analysis does not catch up.
func (w *watch) report(now *schema.Unknown) {
	reason := schema.UnknownReason("")
	if now != nil {
		reason = now.Reason
	}
	stuck := reason == schema.Behind && (w.fresh.backlog.stuck() || reason == w.unknown && w.stuck)
	switch {
	case reason == w.unknown && stuck == w.stuck:
	case now != nil && w.fresh.storedNanos != 0:
		w.log.Warn("pipeline: network state unknown", "reason", reason, "since", time.Unix(0, int64(now.Since)).UTC(), "detail", now.Explained())
	case now == nil:
		w.log.Info("pipeline: network state known", "state", w.fresh.last.Severity.String())
	}
	w.unknown, w.stuck = reason, stuck
}

// readings records a batch, and when it came to Kafka; 0: it did not.
func (w *watch) readings(agent string, appendedNanos int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now().UnixNano()
	w.fresh.read(agent, now)
	w.fresh.backlog.took(appendedNanos, now)
}

// dropped records the readings discarded since the start, by reason.
func (w *watch) dropped(readings map[string]uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh.dropped = readings
}

// live records that readings come from Kafka; until the end of a backlog it is not known up to when.
func (w *watch) live() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh.live = true
}

// readUpTo records up to when Kafka has been read.
func (w *watch) readUpTo(nanos int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh.readUpToNanos = max(w.fresh.readUpToNanos, min(nanos, time.Now().UnixNano()))
}

// refusing records why Kafka accepts no records; "": it does, or does not answer.
func (w *watch) refusing(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh.refusing = why
}

// storing records that the store was given a result, until done is called.
func (w *watch) storing() (done func()) {
	set := func(nanos int64) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fresh.storingNanos = nanos
	}
	set(time.Now().UnixNano())
	return func() { set(0) }
}

// late records readings that came too late for their intervals, and the delay of the newest.
func (w *watch) late(delayNanos int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh.late(delayNanos, time.Now().UnixNano())
}

// resuming records that a run reads the stored state, until done is called: it does not read Kafka meanwhile. If it
// fails, done is not called, and the next run retries.
func (w *watch) resuming() (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh.resumingNanos = cmp.Or(w.fresh.resumingNanos, time.Now().UnixNano())
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fresh.resumingNanos, w.fresh.resumedNanos = 0, time.Now().UnixNano()
	}
}

// stored records that a result was stored. The coverage by a metric that the
// interval does not have is zero.
func (w *watch) stored(r *schema.IntervalResult) {
	w.mu.Lock()
	defer w.mu.Unlock()
	nowNanos := time.Now().UnixNano()
	w.fresh.stored(r, nowNanos)
	now := w.fresh.status(nowNanos)
	w.metrics.state(w.fabric, &now)
	for i := range r.Snapshot.Series {
		w.metric[r.Snapshot.Series[i].Metric] = true
	}
	for metric := range w.metric {
		w.metrics.coverage.WithLabelValues(w.fabric, metric.String()).Set(r.Snapshot.Coverage(metric))
	}
}

// status returns the present state of the network.
func (w *watch) status() schema.NetworkForecast {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fresh.status(time.Now().UnixNano())
}

// old says that the newest interval is old although readings arrive; "" if it is not.
func (w *watch) old() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fresh.old(time.Now().UnixNano())
}

// err returns what has been missing for too long.
func (w *watch) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.begun {
		return nil
	}
	now := time.Now().UnixNano()
	if why := cmp.Or(w.fresh.silence(now), w.fresh.behind(now), w.fresh.lateness(now)); why != nil {
		return errors.New(why.Detail)
	}
	if why := w.fresh.unmeasured(); why != nil && why.Reason == schema.NothingMeasured && now-int64(why.Since) > w.fresh.staleNanos {
		return fmt.Errorf("nothing could be measured since %s: %s", time.Unix(0, int64(why.Since)).UTC().Format(time.RFC3339), why.Detail)
	}
	return nil
}

// state shows the state of the network, -1 if it is unknown, and why.
func (m *Metrics) state(fabric string, now *schema.NetworkForecast) {
	state := float64(now.Severity)
	if now.Unknown != nil {
		state = -1
	}
	m.network.WithLabelValues(fabric).Set(state)
	for _, reason := range schema.UnknownReasons {
		is := 0.
		if now.Unknown != nil && now.Unknown.Reason == reason {
			is = 1
		}
		m.unknown.WithLabelValues(fabric, string(reason)).Set(is)
	}
}

// unknownPast resets what the newest interval, now too old, has set.
func (m *Metrics) unknownPast(fabric string) {
	m.congestion.WithLabelValues(fabric).Set(math.NaN())
	m.longestHot.WithLabelValues(fabric).Set(math.NaN())
	for _, s := range schema.Severities {
		m.regions.WithLabelValues(fabric, s.String()).Set(math.NaN())
	}
}
