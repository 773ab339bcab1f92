package engine

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// reason says why a child ended unexpectedly.
type reason string

const (
	reasonCrash        reason = "crash"         // a signal or a fault ended it
	reasonExit         reason = "exit"          // it ended itself
	reasonStartFailed  reason = "start_failed"  // the program could not be run
	reasonStartTimeout reason = "start_timeout" // it never answered
	reasonUnresponsive reason = "unresponsive"  // it no longer answered
)

type metrics struct {
	restarts     *prometheus.CounterVec
	ready        prometheus.Gauge
	startSeconds prometheus.Gauge
}

// newMetrics registers the metrics of an engine and of the process with the PID
// that childPID returns.
func newMetrics(registerer prometheus.Registerer, childPID func() (int, error)) (*metrics, error) {
	m := &metrics{
		restarts:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_engine_restarts_total", Help: "Restarts of the embedded engine, by what ended the process before."}, []string{"reason"}),
		ready:        prometheus.NewGauge(prometheus.GaugeOpts{Name: "giverny_engine_ready", Help: "1 while the embedded engine answers, 0 otherwise."}),
		startSeconds: prometheus.NewGauge(prometheus.GaugeOpts{Name: "giverny_engine_start_seconds", Help: "Seconds from the last start of the embedded engine to its first answer."}),
	}
	for _, r := range []reason{reasonCrash, reasonExit, reasonStartFailed, reasonStartTimeout, reasonUnresponsive} {
		m.restarts.WithLabelValues(string(r))
	}
	process := collectors.NewProcessCollector(collectors.ProcessCollectorOpts{Namespace: "giverny_engine", PidFn: childPID})
	return m, errors.Join(
		registerer.Register(m.restarts),
		registerer.Register(m.ready),
		registerer.Register(m.startSeconds),
		registerer.Register(process),
	)
}
