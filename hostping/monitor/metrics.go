package monitor

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/hostping/order"
)

// Reasons for skipping a run.
const (
	skippedHoldOff    = "hold_off"   // the RNIC triggered one within hold_off
	skippedBusy       = "busy"       // an RNIC or a GPU is busy
	skippedUnreadable = "unreadable" // an RNIC's counters, or the GPUs' use, are unknown
	skippedRunning    = "running"    // another run is in progress
)

// Outcomes of runs.
const (
	outcomeHealthy = "healthy"
	outcomeVerdict = "verdict"
	outcomeFailed  = "failed"
)

type metrics struct {
	runs    *prometheus.CounterVec
	skipped *prometheus.CounterVec
	lost    prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		runs:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_hostping_monitor_runs_total", Help: "Runs started by this host's monitor, by trigger and outcome."}, []string{"trigger", "outcome"}),
		skipped: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_hostping_monitor_skipped_total", Help: "Scheduled runs that were not started, by reason."}, []string{"reason"}),
		lost:    prometheus.NewCounter(prometheus.CounterOpts{Name: "giverny_hostping_monitor_reports_dropped_total", Help: "Reports of runs that could not be sent."}),
	}
	for _, t := range []order.Trigger{order.IdleHost, order.Paused, order.Dropped} {
		for _, o := range []string{outcomeHealthy, outcomeVerdict, outcomeFailed} {
			m.runs.WithLabelValues(string(t), o)
		}
	}
	for _, r := range []string{skippedHoldOff, skippedBusy, skippedUnreadable, skippedRunning} {
		m.skipped.WithLabelValues(r)
	}
	return m, errors.Join(reg.Register(m.runs), reg.Register(m.skipped), reg.Register(m.lost))
}
