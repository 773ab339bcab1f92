package pipeline

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/schema"
)

// Metrics are those of all fabrics of a process.
type Metrics struct {
	rows      *prometheus.CounterVec
	dropped   *prometheus.GaugeVec
	missing   *prometheus.GaugeVec
	intervals *prometheus.CounterVec
	samples   *prometheus.CounterVec
	regions   *prometheus.GaugeVec
	coverage  *prometheus.GaugeVec

	owner       *prometheus.GaugeVec
	up          *prometheus.GaugeVec
	faults      *prometheus.CounterVec
	refused     *prometheus.CounterVec
	sinkDropped *prometheus.CounterVec

	brier        *prometheus.GaugeVec
	persistence  *prometheus.GaugeVec
	forecasts    *prometheus.GaugeVec
	congestion   *prometheus.GaugeVec
	network      *prometheus.GaugeVec
	longestHot   *prometheus.GaugeVec
	stateRefused *prometheus.CounterVec
}

// NewMetrics registers them.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, append([]string{"fabric"}, labels...))
		reg.MustRegister(v)
		return v
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"fabric"}, labels...))
		reg.MustRegister(v)
		return v
	}
	return &Metrics{
		rows:      counter("giverny_analyse_rows_total", "Rows of counter batches taken in."),
		dropped:   gauge("giverny_analyse_dropped", "Readings and values discarded since the start, by reason.", "reason"),
		missing:   gauge("giverny_analyse_batches_missing", "Batches since the start that were sent and never came, by the gaps in their numbers."),
		intervals: counter("giverny_analyse_intervals_total", "Intervals analysed and stored."),
		samples:   counter("giverny_analyse_samples_total", "Counter readings that went into stored intervals."),
		regions:   gauge("giverny_regions", "Congestion regions in the newest stored interval.", "severity"),
		coverage:  gauge("giverny_coverage_ratio", "Share of links measured in the newest stored interval.", "metric"),

		owner:       gauge("giverny_pipeline_owner", "1 while this process analyses the fabric, 0 while it stands by because another does."),
		up:          gauge("giverny_pipeline_up", "1 while a part of the fabric's pipeline works, 0 while it has failed and is retried.", "part"),
		faults:      counter("giverny_pipeline_faults_total", "Faults of parts of the fabric's pipeline, each followed by a retry.", "part"),
		refused:     counter("giverny_pipeline_refused_total", "Results that a sink refused for good; the others have them.", "sink"),
		sinkDropped: counter("giverny_pipeline_sink_dropped_total", "Results that did not reach a sink, by reason.", "sink", "reason"),

		brier:        gauge("giverny_tracking_brier_score", "Mean Brier score of the forecasts of regions whose outcome is known, 0 (perfect) to 2.", "intervals_ahead"),
		persistence:  gauge("giverny_tracking_persistence_brier_score", "The same of a forecast that every region stays as it is, to compare with.", "intervals_ahead"),
		forecasts:    gauge("giverny_tracking_forecasts", "Forecasts of regions whose outcome is known, restarts included.", "intervals_ahead"),
		congestion:   gauge("giverny_tracking_congestion_event", "1 while a regions congestion event (RCE) is on."),
		network:      gauge("giverny_tracking_network_state", "State of the network: 0 Neg, 1 Low, 2 Medium, 3 High, that of its worst region."),
		longestHot:   gauge("giverny_tracking_longest_hot_seconds", "For how long the link that has been hot for longest has been so; 0 if none is."),
		stateRefused: counter("giverny_tracking_state_refused_total", "Saved states of the analysis that could not be used after a restart and were rebuilt."),
	}
}

// declare makes every series of a fabric, at zero.
func (m *Metrics) declare(fabric string, drops map[string]uint64) {
	for _, c := range []*prometheus.CounterVec{m.rows, m.intervals, m.samples, m.stateRefused} {
		c.WithLabelValues(fabric)
	}
	for _, s := range schema.Severities {
		m.regions.WithLabelValues(fabric, s.String())
	}
	for _, g := range []*prometheus.GaugeVec{m.owner, m.congestion, m.network, m.longestHot} {
		g.WithLabelValues(fabric)
	}
	m.refused.WithLabelValues(fabric, storeSink)
	m.declarePart(fabric, partAnalysis)
	m.skill(fabric, schema.ForecastSkills{})
	m.drops(fabric, drops, 0)
}

func (m *Metrics) declarePart(fabric, part string) {
	m.up.WithLabelValues(fabric, part)
	m.faults.WithLabelValues(fabric, part)
}

func (m *Metrics) declareSink(fabric, sink string) {
	m.refused.WithLabelValues(fabric, sink)
	m.sinkDropped.WithLabelValues(fabric, sink, dropFull)
}

func (m *Metrics) skill(fabric string, s schema.ForecastSkills) {
	for ahead, skill := range map[int]schema.ForecastSkill{1: s.Next, schema.LaterIntervals: s.Later} {
		label := strconv.Itoa(ahead)
		m.brier.WithLabelValues(fabric, label).Set(skill.Brier)
		m.persistence.WithLabelValues(fabric, label).Set(skill.Persistence)
		m.forecasts.WithLabelValues(fabric, label).Set(float64(skill.Forecasts))
	}
}

// tracked shows what is known over time.
func (m *Metrics) tracked(r *schema.IntervalResult) {
	fabric := r.Snapshot.Fabric
	m.skill(fabric, r.Skill)
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

func (m *Metrics) drops(fabric string, drops map[string]uint64, missing uint64) {
	m.missing.WithLabelValues(fabric).Set(float64(missing))
	for reason, n := range drops {
		m.dropped.WithLabelValues(fabric, reason).Set(float64(n))
	}
}

func (m *Metrics) stored(r *schema.IntervalResult) {
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
