package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/internal/analysis"
	"github.com/giverny/giverny/schema"
)

// analyserMetrics are those of all analysers of the process.
type analyserMetrics struct {
	rows      *prometheus.CounterVec
	dropped   *prometheus.GaugeVec
	intervals *prometheus.CounterVec
	samples   *prometheus.CounterVec
	regions   *prometheus.GaugeVec
	coverage  *prometheus.GaugeVec

	unannounced prometheus.Counter
}

func newAnalyserMetrics(reg prometheus.Registerer) *analyserMetrics {
	m := &analyserMetrics{
		rows:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_analyse_rows_total", Help: "Rows of counter batches taken from Kafka."}, []string{"fabric"}),
		dropped:   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "giverny_analyse_dropped", Help: "Readings and values that came to nothing since the start, by reason."}, []string{"fabric", "reason"}),
		intervals: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_analyse_intervals_total", Help: "Intervals analysed and stored."}, []string{"fabric"}),
		samples:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_analyse_samples_total", Help: "Counter readings that went into stored intervals."}, []string{"fabric"}),
		regions:   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "giverny_regions", Help: "Congestion regions in the newest stored interval."}, []string{"fabric", "severity"}),
		coverage:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "giverny_coverage_ratio", Help: "Share of links measured in the newest stored interval."}, []string{"fabric", "metric"}),
	}
	m.unannounced = prometheus.NewCounter(prometheus.CounterOpts{Name: "giverny_analyse_unannounced_total", Help: "Intervals whose regions are stored but did not fit into a message."})
	reg.MustRegister(m.unannounced, m.rows, m.dropped, m.intervals, m.samples, m.regions, m.coverage)
	return m
}

// declare makes every series of a fabric, at zero.
func (m *analyserMetrics) declare(fabric string, drops map[string]uint64) {
	m.rows.WithLabelValues(fabric)
	m.intervals.WithLabelValues(fabric)
	m.samples.WithLabelValues(fabric)
	for _, s := range schema.Severities {
		m.regions.WithLabelValues(fabric, s.String())
	}
	m.drops(fabric, drops)
}

func (m *analyserMetrics) drops(fabric string, drops map[string]uint64) {
	for reason, n := range drops {
		m.dropped.WithLabelValues(fabric, reason).Set(float64(n))
	}
}

func (m *analyserMetrics) stored(r *analysis.Result) {
	fabric := r.Snapshot.Fabric
	m.intervals.WithLabelValues(fabric).Inc()
	m.samples.WithLabelValues(fabric).Add(float64(r.Snapshot.Samples))
	var bySeverity [len(schema.Severities)]int
	for i := range r.Regions {
		bySeverity[r.Regions[i].Severity]++
	}
	for s, n := range bySeverity {
		m.regions.WithLabelValues(fabric, schema.Severity(s).String()).Set(float64(n))
	}
	for i := range r.Snapshot.Series {
		metric := r.Snapshot.Series[i].Metric
		m.coverage.WithLabelValues(fabric, metric.String()).Set(r.Snapshot.Coverage(metric))
	}
}
