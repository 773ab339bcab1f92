package feeds

import (
	"errors"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collectors/nodes"
)

// Metrics are the metrics of all feeds of a process.
type Metrics struct {
	registerer                                               prometheus.Registerer
	reads, failed, read, rows, drops, retries, held, unknown *prometheus.CounterVec
	states                                                   *prometheus.GaugeVec
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	var errs []error
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_feed_" + name, Help: help}, append([]string{"feed"}, labels...))
		errs = append(errs, reg.Register(v))
		return v
	}
	m := &Metrics{
		registerer: reg,
		reads:      counter("reads_total", "Reads of a feed of jobs, failures or traffic."),
		failed:     counter("read_failures_total", "Reads of a feed that failed.", "reason"),
		read:       counter("rows_read_total", "Rows read from a feed."),
		rows:       counter("rows_total", "Rows of a feed that were emitted, once for each fabric."),
		drops:      counter("rows_dropped_total", "Rows of a feed that were dropped, by reason.", "reason"),
		retries:    counter("retries_total", "Retries of rows of a feed that were not accepted."),
		held:       counter("reads_held_total", "Reads of a feed that are repeated because most of their rows could not be parsed."),
		unknown:    counter("nodes_unknown_total", "Node names in rows of a feed that match no device of its fabrics.", "reason"),
		states:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "giverny_feed_state", Help: "1 for the current state of a feed, 0 for the others."}, []string{"feed", "state"}),
	}
	errs = append(errs, reg.Register(m.states))
	return m, errors.Join(errs...)
}

// feedMetrics are the metrics of one feed, all initialised to zero.
type feedMetrics struct {
	reads, read, rows, retries, held prometheus.Counter
	all                              *Metrics
	feed                             string
}

func (m *Metrics) of(feed string, age func() (time.Duration, bool)) *feedMetrics {
	f := &feedMetrics{reads: m.reads.WithLabelValues(feed), read: m.read.WithLabelValues(feed), rows: m.rows.WithLabelValues(feed),
		retries: m.retries.WithLabelValues(feed), held: m.held.WithLabelValues(feed), all: m, feed: feed}
	f.failures(true)
	f.failures(false)
	for _, reason := range Reasons() {
		f.dropped(reason)
	}
	for _, reason := range []nodes.Reason{nodes.Unknown, nodes.NoSuch} {
		f.unknownNodes(string(reason))
	}
	// A second runner of the same feed is a caller's bug; the age of the first one is kept.
	_ = m.registerer.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "giverny_feed_age_seconds",
		Help: "Time since a feed was read successfully; NaN before the first time.", ConstLabels: prometheus.Labels{"feed": feed}}, func() float64 {
		if d, ok := age(); ok {
			return d.Seconds()
		}
		return math.NaN()
	}))
	return f
}

func (f *feedMetrics) failures(timedOut bool) prometheus.Counter {
	if timedOut {
		return f.all.failed.WithLabelValues(f.feed, "timeout")
	}
	return f.all.failed.WithLabelValues(f.feed, "error")
}

func (f *feedMetrics) dropped(reason string) prometheus.Counter {
	return f.all.drops.WithLabelValues(f.feed, reason)
}

func (f *feedMetrics) unknownNodes(reason string) prometheus.Counter {
	return f.all.unknown.WithLabelValues(f.feed, reason)
}

func (f *feedMetrics) show(s State) {
	for _, state := range States() {
		value := 0.0
		if state == s {
			value = 1
		}
		f.all.states.WithLabelValues(f.feed, string(state)).Set(value)
	}
}
