package run

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
)

// Metrics of all searches of a process. A nil *Metrics is a no-op.
type Metrics struct {
	measurements, faults, findings *prometheus.CounterVec
}

// NewMetrics registers the metrics, all at zero.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		measurements: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_search_measurements_total", Help: "Workloads measured, by status; faults of engines count as setup_failed."}, []string{"status"}),
		faults:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_search_engine_faults_total", Help: "Measurements in which the engine failed, by reason; the engine was restarted."}, []string{"reason"}),
		findings:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_search_findings_total", Help: "Anomalies reported, and revised or withdrawn later."}, []string{"kind"}),
	}
	for _, s := range []search.Status{search.OK, search.SetupFailed, search.Invalid, search.NotQuiet} {
		m.measurements.WithLabelValues(string(s))
	}
	for _, r := range engine.Reasons() {
		m.faults.WithLabelValues(string(r))
	}
	for _, k := range []string{kindAnomaly, kindRevised, kindWithdrawn} {
		m.findings.WithLabelValues(k)
	}
	return m, errors.Join(reg.Register(m.measurements), reg.Register(m.faults), reg.Register(m.findings))
}

// Kinds of findings.
const (
	kindAnomaly   = "anomaly"
	kindRevised   = "revised"
	kindWithdrawn = "withdrawn"
)

func (m *Metrics) measured(s search.Status, fault *engine.Fault) {
	if m == nil {
		return
	}
	m.measurements.WithLabelValues(string(s)).Inc()
	if fault != nil {
		m.faults.WithLabelValues(string(fault.Reason)).Inc()
	}
}

func (m *Metrics) found(f search.Finding) {
	if m == nil {
		return
	}
	kind := kindAnomaly
	switch {
	case f.Anomaly.MFS == nil:
		kind = kindWithdrawn
	case f.Revised > 0:
		kind = kindRevised
	}
	m.findings.WithLabelValues(kind).Inc()
}
