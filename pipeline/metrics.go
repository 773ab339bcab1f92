package pipeline

import (
	"errors"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/ingest/clockcheck"
	"github.com/giverny/giverny/schema"
)

// Metrics are the metrics of all fabrics of a process.
type Metrics struct {
	rows      *prometheus.CounterVec
	dropped   *prometheus.CounterVec
	missing   *prometheus.CounterVec
	intervals *prometheus.CounterVec
	samples   *prometheus.CounterVec
	regions   *prometheus.GaugeVec
	coverage  *prometheus.GaugeVec

	owner       *prometheus.GaugeVec
	up          *prometheus.GaugeVec
	faults      *prometheus.CounterVec
	rewinds     *prometheus.CounterVec
	incomplete  *prometheus.GaugeVec
	held        *prometheus.GaugeVec
	refused     *prometheus.CounterVec
	sinkDropped *prometheus.CounterVec

	clockOffset *prometheus.GaugeVec
	clocksOff   *prometheus.GaugeVec

	brier        *prometheus.GaugeVec
	persistence  *prometheus.GaugeVec
	forecasts    *prometheus.GaugeVec
	congestion   *prometheus.GaugeVec
	network      *prometheus.GaugeVec
	unknown      *prometheus.GaugeVec
	readingAge   *prometheus.GaugeVec
	intervalAge  *prometheus.GaugeVec
	lag          *prometheus.GaugeVec
	agents       *prometheus.GaugeVec
	longestHot   *prometheus.GaugeVec
	stateRefused *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	var errs []error
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, append([]string{"fabric"}, labels...))
		errs = append(errs, reg.Register(v))
		return v
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"fabric"}, labels...))
		errs = append(errs, reg.Register(v))
		return v
	}
	m := &Metrics{
		rows:      counter("giverny_analyse_rows_total", "Rows of counter batches received."),
		dropped:   counter("giverny_analyse_dropped_total", "Readings and values discarded, by reason.", "reason"),
		missing:   counter("giverny_analyse_batches_missing_total", "Batches that were sent but did not arrive, by gaps in their sequence numbers."),
		intervals: counter("giverny_analyse_intervals_total", "Intervals analysed and stored."),
		samples:   counter("giverny_analyse_samples_total", "Counter readings used in stored intervals."),
		regions:   gauge("giverny_regions", "Congestion regions in the newest stored interval; NaN while none is stored.", "severity"),
		coverage:  gauge("giverny_coverage_ratio", "Share of links measured in the newest stored interval; 0 while none is stored.", "metric"),

		owner:       gauge("giverny_pipeline_owner", "1 while this process analyses the fabric, 0 while it is on standby because another process does."),
		up:          gauge("giverny_pipeline_up", "1 while a part of the fabric's pipeline works, 0 while it has failed and is retried.", "part"),
		faults:      counter("giverny_pipeline_faults_total", "Faults of parts of the fabric's pipeline, each followed by a retry.", "part"),
		rewinds:     counter("giverny_pipeline_rewinds_total", "Times that stored intervals were analysed and stored again, because readings arrived late."),
		incomplete:  gauge("giverny_pipeline_incomplete_intervals", "Stored intervals that lack late readings; they will be completed."),
		held:        gauge("giverny_pipeline_held", "1 while intervals are held because Kafka is or was unreachable, until the agents have sent their spools."),
		refused:     counter("giverny_pipeline_refused_total", "Results that a sink refused permanently; other sinks received them.", "sink"),
		sinkDropped: counter("giverny_pipeline_sink_dropped_total", "Results that did not reach a sink, by reason.", "sink", "reason"),

		clockOffset: gauge("giverny_clock_offset_seconds", "Time by which the clock of an agent is ahead of the brokers', for the first hundred agents whose clock is too far off.", "agent", "source"),
		clocksOff:   gauge("giverny_clocks_off", "Agents whose clock is too far off, by source and by what is done with their readings.", "state"),

		brier:        gauge("giverny_tracking_brier_score", "Mean Brier score of the forecasts of regions whose outcome is known, 0 (perfect) to 2.", "intervals_ahead"),
		persistence:  gauge("giverny_tracking_persistence_brier_score", "Mean Brier score of the forecast that no region changes, for comparison.", "intervals_ahead"),
		forecasts:    gauge("giverny_tracking_forecasts", "Forecasts of regions whose outcome is known, restarts included.", "intervals_ahead"),
		congestion:   gauge("giverny_tracking_congestion_event", "1 while a regions congestion event (RCE) is on; NaN while no interval is stored."),
		network:      gauge("giverny_tracking_network_state", "State of the network, that of its worst region: 0 Neg, 1 Low, 2 Medium, 3 High; -1 while it is unknown."),
		unknown:      gauge("giverny_network_unknown", "1 while the state of the network is unknown, by reason; no_owner if all analysers say so.", "reason"),
		readingAge:   gauge("giverny_pipeline_last_reading_age_seconds", "Time since the last readings arrived, or since the start."),
		intervalAge:  gauge("giverny_pipeline_last_interval_age_seconds", "Time since the last interval was stored, or since the start."),
		lag:          gauge("giverny_pipeline_lag_seconds", "How long the readings that were analysed last had waited in Kafka."),
		agents:       gauge("giverny_analyse_agents", "Agents by state: reporting, or silent for three intervals but less than a day.", "state"),
		longestHot:   gauge("giverny_tracking_longest_hot_seconds", "How long the longest-hot link has been hot; 0 if none is, NaN while no interval is stored."),
		stateRefused: counter("giverny_tracking_state_refused_total", "Saved states of the analysis that could not be used after a restart and were rebuilt."),
	}
	return m, errors.Join(errs...)
}

// discarded is what a fabric has discarded since the start of the process.
type discarded struct {
	readings map[string]uint64 // readings and values, by reason
	batches  uint64            // that never arrived
}

// with adds what a run has discarded.
func (d discarded) with(core *analysis.Core) discarded {
	readings := core.Drops()
	for reason, n := range d.readings {
		readings[reason] += n
	}
	return discarded{readings, d.batches + core.MissingBatches()}
}

// declare creates every series of a fabric, at zero.
func (m *Metrics) declare(fabric string, drops map[string]uint64) {
	for _, c := range []*prometheus.CounterVec{m.rows, m.intervals, m.samples, m.stateRefused, m.rewinds} {
		c.WithLabelValues(fabric)
	}
	for _, s := range schema.Severities {
		m.regions.WithLabelValues(fabric, s.String())
	}
	for _, g := range []*prometheus.GaugeVec{m.owner, m.congestion, m.longestHot, m.readingAge, m.intervalAge, m.lag, m.incomplete, m.held} {
		g.WithLabelValues(fabric)
	}
	for _, state := range []clockcheck.State{clockcheck.Quarantined, clockcheck.Shifted} {
		m.clocksOff.WithLabelValues(fabric, state.String())
	}
	for _, state := range []string{"reporting", "silent"} {
		m.agents.WithLabelValues(fabric, state)
	}
	m.state(fabric, &schema.NetworkForecast{Unknown: &schema.Unknown{Reason: schema.NoInterval}})
	m.refused.WithLabelValues(fabric, storeSink)
	m.declarePart(fabric, partAnalysis)
	m.skill(fabric, schema.ForecastSkills{})
	m.drops(fabric, discarded{readings: drops})
}

func (m *Metrics) declarePart(fabric, part string) {
	m.up.WithLabelValues(fabric, part)
	m.faults.WithLabelValues(fabric, part)
}

func (m *Metrics) declareSink(fabric, sink string) {
	m.refused.WithLabelValues(fabric, sink)
	for _, reason := range []string{dropFull, dropStopped, dropOld} {
		m.sinkDropped.WithLabelValues(fabric, sink, reason)
	}
}

func (m *Metrics) skill(fabric string, s schema.ForecastSkills) {
	for ahead, skill := range map[int]schema.ForecastSkill{1: s.Next, schema.LaterIntervals: s.Later} {
		label := strconv.Itoa(ahead)
		m.brier.WithLabelValues(fabric, label).Set(skill.Brier)
		m.persistence.WithLabelValues(fabric, label).Set(skill.Persistence)
		m.forecasts.WithLabelValues(fabric, label).Set(float64(skill.Forecasts))
	}
}

// tracked shows the results of tracking, but for the state of the network: a stored interval may be of the past, which the watch
// knows.
func (m *Metrics) tracked(r *schema.IntervalResult) {
	fabric := r.Snapshot.Fabric
	m.skill(fabric, r.Skill)
	on := 0.
	if r.Congestion != nil {
		on = 1
	}
	m.congestion.WithLabelValues(fabric).Set(on)
	longest := int64(0)
	for _, h := range r.Hot {
		longest = max(longest, r.Snapshot.Interval.EndNanos()-h.SinceNanos)
	}
	m.longestHot.WithLabelValues(fabric).Set(float64(longest) / 1e9)
}

func (m *Metrics) drops(fabric string, d discarded) {
	raise(m.missing.WithLabelValues(fabric), d.batches)
	for reason, n := range d.readings {
		raise(m.dropped.WithLabelValues(fabric, reason), n)
	}
}

// raise raises a counter to a total counted elsewhere; it must not be called concurrently.
func raise(c prometheus.Counter, total uint64) {
	var now dto.Metric
	if err := c.Write(&now); err == nil { // a counter without exemplars returns no error
		c.Add(max(0, float64(total)-now.GetCounter().GetValue()))
	}
}

// late shows whether intervals are held, and the number of incomplete ones.
func (m *Metrics) late(fabric string, held bool, incomplete int64) {
	on := 0.
	if held {
		on = 1
	}
	m.held.WithLabelValues(fabric).Set(on)
	m.incomplete.WithLabelValues(fabric).Set(float64(incomplete))
}

// stored counts a stored result; one that was stored again is not the newest.
func (m *Metrics) stored(r *schema.IntervalResult, again bool) {
	fabric := r.Snapshot.Fabric
	m.intervals.WithLabelValues(fabric).Inc()
	m.samples.WithLabelValues(fabric).Add(float64(r.Snapshot.Samples))
	if again {
		return
	}
	m.tracked(r)
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
