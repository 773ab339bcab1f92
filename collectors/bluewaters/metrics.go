package bluewaters

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	bytes, rows, batches, lost prometheus.Counter
	dropped                    [NumReasons]prometheus.Counter
	behind                     prometheus.Gauge
	counted                    Summary // what the counters show already
}

func newMetrics(fabric string, reg prometheus.Registerer) (*metrics, error) {
	reg = prometheus.WrapRegistererWith(prometheus.Labels{"fabric": fabric}, reg)
	var errs []error
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "giverny_bluewaters_" + name, Help: help})
		errs = append(errs, reg.Register(c))
		return c
	}
	m := &metrics{
		bytes:   counter("bytes_total", "Bytes of day files read, after decompression."),
		rows:    counter("rows_total", "Rows of day files read, good and bad."),
		batches: counter("batches_total", "Minutes emitted."),
		lost:    counter("batch_rows_lost_total", "Rows of batches that could not be emitted."),
		behind:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "giverny_bluewaters_behind_seconds", Help: "How far a paced replay is behind its schedule."}),
	}
	dropped := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_bluewaters_rows_dropped_total", Help: "Rows of day files that were dropped, by reason."}, []string{"reason"})
	errs = append(errs, reg.Register(m.behind), reg.Register(dropped))
	for r := range NumReasons {
		m.dropped[r] = dropped.WithLabelValues(r.String())
	}
	return m, errors.Join(errs...)
}

// count updates the counters to the summary.
func (m *metrics) count(s Summary) {
	m.bytes.Add(float64(s.Bytes - m.counted.Bytes))
	m.rows.Add(float64(s.Rows - m.counted.Rows))
	for r := range NumReasons {
		m.dropped[r].Add(float64(s.Dropped[r] - m.counted.Dropped[r]))
	}
	m.counted = s
}
