package record

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the metrics of all sinks of a process.
type Metrics struct {
	actions *prometheus.CounterVec
	refused *prometheus.CounterVec
	faults  *prometheus.CounterVec
	up      *prometheus.GaugeVec
	pending *prometheus.GaugeVec
	marked  *prometheus.GaugeVec
	success *prometheus.GaugeVec
	lost    prometheus.Counter
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"sink"}, labels...))
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"sink"})
	}
	m := &Metrics{
		actions: counter("giverny_feedback_actions_total", "Actions of feedback that were done, would have been done (dry_run) or were refused.", "action", "outcome", "dry_run"),
		refused: counter("giverny_feedback_refused_total", "Changes refused and deliveries dropped, by reason.", "reason"),
		faults:  counter("giverny_feedback_faults_total", "Failed calls to the target of a sink, or to a part of it such as a member of a cluster, each followed by a retry."),
		up:      gauge("giverny_feedback_up", "1 if the last call to the target of the sink succeeded, 0 while it fails and is retried."),
		pending: gauge("giverny_feedback_pending", "Pending changes and deliveries."),
		marked:  gauge("giverny_feedback_marked_nodes", "Nodes that a scheduler is currently asked to avoid, or in a dry run would be."),
		success: gauge("giverny_feedback_last_success_timestamp_seconds", "Time of the last successful call to the target of the sink; 0: never."),
		lost:    prometheus.NewCounter(prometheus.CounterOpts{Name: "giverny_feedback_audit_dropped_total", Help: "Audit rows that were dropped because the store was unreachable for too long; the log has them."}),
	}
	for _, c := range []prometheus.Collector{m.actions, m.refused, m.faults, m.up, m.pending, m.marked, m.success, m.lost} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("feedback metrics: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) declare(sink string, reasons []string) {
	for _, reason := range reasons {
		m.refused.WithLabelValues(sink, reason)
	}
	m.faults.WithLabelValues(sink)
	m.up.WithLabelValues(sink).Set(1)
	for _, g := range []*prometheus.GaugeVec{m.pending, m.marked, m.success} {
		g.WithLabelValues(sink)
	}
}
