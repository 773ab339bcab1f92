package main

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

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

	brier        *prometheus.GaugeVec
	persistence  *prometheus.GaugeVec
	forecasts    *prometheus.GaugeVec
	congestion   *prometheus.GaugeVec
	network      *prometheus.GaugeVec
	longestHot   *prometheus.GaugeVec
	stateRefused *prometheus.CounterVec
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
	ahead := []string{"fabric", "intervals_ahead"}
	m.brier = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "giverny_tracking_brier_score", Help: "Mean Brier score of the forecasts of regions whose outcome is known, 0 (perfect) to 2."}, ahead)
	m.persistence = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "giverny_tracking_persistence_brier_score", Help: "The same of a forecast that every region stays as it is, to compare with."}, ahead)
	m.forecasts = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "giverny_tracking_forecasts", Help: "Forecasts of regions whose outcome is known, restarts included."}, ahead)
	m.congestion = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "giverny_tracking_congestion_event", Help: "1 while a regions congestion event (RCE) is on."}, []string{"fabric"})
	m.network = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "giverny_tracking_network_state", Help: "State of the network: 0 Neg, 1 Low, 2 Medium, 3 High, that of its worst region."}, []string{"fabric"})
	m.longestHot = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "giverny_tracking_longest_hot_seconds", Help: "For how long the link that has been hot for longest has been so; 0 if none is."}, []string{"fabric"})
	m.stateRefused = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_tracking_state_refused_total", Help: "Saved states of the analysis that could not be used after a restart and were rebuilt."}, []string{"fabric"})
	reg.MustRegister(m.unannounced, m.rows, m.dropped, m.intervals, m.samples, m.regions, m.coverage,
		m.brier, m.persistence, m.forecasts, m.congestion, m.network, m.longestHot, m.stateRefused)
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
	for _, g := range []*prometheus.GaugeVec{m.congestion, m.network, m.longestHot} {
		g.WithLabelValues(fabric)
	}
	m.stateRefused.WithLabelValues(fabric)
	m.skill(fabric, "1", schema.ForecastSkill{})
	m.skill(fabric, strconv.Itoa(schema.LaterIntervals), schema.ForecastSkill{})
	m.drops(fabric, drops)
}

func (m *analyserMetrics) skill(fabric, ahead string, s schema.ForecastSkill) {
	m.brier.WithLabelValues(fabric, ahead).Set(s.Brier)
	m.persistence.WithLabelValues(fabric, ahead).Set(s.Persistence)
	m.forecasts.WithLabelValues(fabric, ahead).Set(float64(s.Forecasts))
}

// tracked shows what is known over time.
func (m *analyserMetrics) tracked(r *schema.IntervalResult) {
	fabric := r.Snapshot.Fabric
	m.skill(fabric, "1", r.Skill.Next)
	m.skill(fabric, strconv.Itoa(schema.LaterIntervals), r.Skill.Later)
	on := 0.
	if r.Congestion != nil {
		on = 1
	}
	m.congestion.WithLabelValues(fabric).Set(on)
	m.network.WithLabelValues(fabric).Set(float64(r.Network.Severity))
	longest := int64(0)
	for _, h := range r.Hot {
		longest = max(longest, r.Snapshot.Interval.EndNanos()-h.SinceNanos)
	}
	m.longestHot.WithLabelValues(fabric).Set(float64(longest) / 1e9)
}

func (m *analyserMetrics) drops(fabric string, drops map[string]uint64) {
	for reason, n := range drops {
		m.dropped.WithLabelValues(fabric, reason).Set(float64(n))
	}
}

func (m *analyserMetrics) stored(r *schema.IntervalResult) {
	fabric := r.Snapshot.Fabric
	m.tracked(r)
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
