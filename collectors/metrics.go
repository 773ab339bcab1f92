package collectors

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Labels of the metrics of pollers.
const (
	labelFabric    = "fabric"
	labelCollector = "collector"
	labelReason    = "reason"
	labelDirection = "direction"
)

// metrics are the collector metrics of one process.
type metrics struct {
	polls, skipped, rows, batches, abandoned  *prometheus.CounterVec
	clockSteps                                *prometheus.CounterVec
	inventory, deviceErrors, unreadable, lost *prometheus.CounterVec
	devices, stuck                            *prometheus.GaugeVec
	pollSeconds                               *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	common := []string{labelFabric, labelCollector}
	withReason := []string{labelFabric, labelCollector, labelReason}
	var errs []error
	counter := func(name, help string, labels []string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_collector_" + name, Help: help}, labels)
		errs = append(errs, reg.Register(v))
		return v
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "giverny_collector_" + name, Help: help}, common)
		errs = append(errs, reg.Register(v))
		return v
	}
	m := &metrics{
		polls:        counter("polls_total", "Polls that ran.", common),
		skipped:      counter("polls_skipped_total", "Interval boundaries at which no poll began because one was still running.", common),
		rows:         counter("rows_total", "Rows read, one per port and kind of query.", common),
		batches:      counter("batches_total", "Batches emitted.", common),
		abandoned:    counter("devices_abandoned_total", "Devices that were still blocked in a read when the poller ended.", common),
		clockSteps:   counter("clock_steps_total", "Times that the clock of the host was set between two polls, forward or back.", []string{labelFabric, labelCollector, labelDirection}),
		inventory:    counter("inventory_errors_total", "Failures to list the devices.", withReason),
		deviceErrors: counter("device_errors_total", "Devices that a poll could not read, or not in full.", withReason),
		unreadable:   counter("counters_unreadable_total", "Single counters of a device that could not be read.", withReason),
		lost:         counter("rows_dropped_total", "Rows that were read and could not be emitted.", withReason),
		devices:      gauge("devices", "Devices of the last poll."),
		stuck:        gauge("devices_stuck", "Devices that are blocked in a read now."),
		pollSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "giverny_collector_poll_seconds",
			Help: "Duration of a poll, until the last batch is emitted.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 9)}, common),
	}
	errs = append(errs, reg.Register(m.pollSeconds))
	return m, errors.Join(errs...)
}

type byReason [NumReasons]prometheus.Counter

// pollerMetrics are the metrics of one poller, all initialised to zero.
type pollerMetrics struct {
	polls, skipped, rows, batches, abandoned prometheus.Counter
	inventory, deviceErrors, unreadable      byReason
	lostLate, lostEmit                       prometheus.Counter
	setForward, setBack                      prometheus.Counter
	devices, stuck                           prometheus.Gauge
	pollSeconds                              prometheus.Observer
}

func (m *metrics) of(fabric, collector string) *pollerMetrics {
	reasons := func(v *prometheus.CounterVec) (c byReason) {
		for r := range NumReasons {
			c[r] = v.WithLabelValues(fabric, collector, r.String())
		}
		return c
	}
	return &pollerMetrics{
		polls:        m.polls.WithLabelValues(fabric, collector),
		skipped:      m.skipped.WithLabelValues(fabric, collector),
		rows:         m.rows.WithLabelValues(fabric, collector),
		batches:      m.batches.WithLabelValues(fabric, collector),
		abandoned:    m.abandoned.WithLabelValues(fabric, collector),
		inventory:    reasons(m.inventory),
		deviceErrors: reasons(m.deviceErrors),
		unreadable:   reasons(m.unreadable),
		lostLate:     m.lost.WithLabelValues(fabric, collector, "late"),
		lostEmit:     m.lost.WithLabelValues(fabric, collector, "emit"),
		setForward:   m.clockSteps.WithLabelValues(fabric, collector, "forward"),
		setBack:      m.clockSteps.WithLabelValues(fabric, collector, "back"),
		devices:      m.devices.WithLabelValues(fabric, collector),
		stuck:        m.stuck.WithLabelValues(fabric, collector),
		pollSeconds:  m.pollSeconds.WithLabelValues(fabric, collector),
	}
}
