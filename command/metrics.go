package command

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/schema"
)

// metrics of one agent. Every label starts at zero.
type metrics struct {
	received       prometheus.Counter
	refused        *prometheus.CounterVec // reason
	answered       *prometheus.CounterVec // status
	answersDropped *prometheus.CounterVec // reason
	running, stuck prometheus.Gauge
	panics         prometheus.Counter
	runSeconds     prometheus.Histogram
	remembered     prometheus.Gauge
	memoryErrors   prometheus.Counter
}

// Reasons for not sending an answer.
const (
	dropRate        = "rate_limited" // too many commands that are not authentic or not fresh
	dropOversized   = "oversized"    // progress that is invalid JSON or exceeds MaxOutputBytes
	dropUndelivered = "undelivered"  // not accepted by Kafka before the agent stopped; sent after the restart
)

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	var errs []error
	register := func(c prometheus.Collector) { errs = append(errs, reg.Register(c)) }
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "giverny_command_" + name, Help: help})
		register(c)
		return c
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "giverny_command_" + name, Help: help})
		register(g)
		return g
	}
	labelled := func(name, help, label string, values ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_command_" + name, Help: help}, []string{label})
		for _, value := range values {
			v.WithLabelValues(value)
		}
		register(v)
		return v
	}
	m := &metrics{
		received:       counter("received_total", "Commands in the topic of the fabric, including those for other agents."),
		refused:        labelled("refused_total", "Commands that were not carried out.", "reason", reasonLabels()...),
		answered:       labelled("answers_total", "Answers that Kafka acknowledged.", "status", statusLabels()...),
		answersDropped: labelled("answers_dropped_total", "Answers that were not sent.", "reason", dropRate, dropOversized, dropUndelivered),
		running:        gauge("running", "Commands that run now."),
		stuck:          gauge("stuck", "Commands that were stopped and have not returned; they still count against the limits."),
		panics:         counter("panics_total", "Panics of command handlers."),
		runSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "giverny_command_run_seconds",
			Help: "Time from a command's start to its end.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 10)}),
		remembered:   gauge("remembered", "Commands in the agent's record of past commands, by which none is executed twice."),
		memoryErrors: counter("memory_errors_total", "Failures to write the agent's record of past commands; a command that cannot be recorded is refused."),
	}
	register(m.runSeconds)
	return m, errors.Join(errs...)
}

func reasonLabels() (labels []string) {
	for _, r := range Reasons() {
		labels = append(labels, string(r))
	}
	return labels
}

func statusLabels() (labels []string) {
	for _, s := range []schema.CommandStatus{schema.CommandAccepted, schema.CommandProgress, schema.CommandDone, schema.CommandFailed, schema.CommandRefused,
		schema.CommandExpired, schema.CommandCancelled} {
		labels = append(labels, string(s))
	}
	return labels
}
