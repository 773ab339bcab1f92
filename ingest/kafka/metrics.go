package kafka

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/spool"
)

// Metrics are shared by all components of a process. Every reason label starts at zero.
type Metrics struct {
	produced, producedBytes *prometheus.CounterVec // topic
	produceSeconds          prometheus.Histogram
	produceRetries          *prometheus.CounterVec // reason
	produceDropped          *prometheus.CounterVec // reason
	queuedBytes             prometheus.Gauge

	consumed, consumedBytes *prometheus.CounterVec // topic, fabric
	fetchSeconds            prometheus.Histogram
	lag, offset, committed  *prometheus.GaugeVec   // topic, fabric
	reachable               *prometheus.GaugeVec   // topic, fabric
	lost                    *prometheus.CounterVec // reason
	deadLetters             *prometheus.CounterVec // reason
	tailDropped             *prometheus.CounterVec // reason
	reconnects              *prometheus.CounterVec // reason
}

// Reason labels. Those of dead letters are envelope's and the three below that a Consumer finds itself.
const (
	retryNetwork = "network" // no response
	retryBroker  = "broker"  // a retryable error response

	dropTooLarge  = spool.DropTooLarge // longer than the limit, ours or the broker's
	dropRefused   = spool.DropRefused  // permanently rejected by the broker
	dropAbandoned = "abandoned"        // unacknowledged when the caller gave up; it may still arrive

	lostGap        = "offset_gap"          // records that the broker no longer had when they were fetched
	lostOutOfRange = "offset_out_of_range" // the same, found at the start of the log
	lostCorrupt    = "corrupt_batch"       // records with a wrong checksum
	lostTooLarge   = "batch_too_large"     // records of a batch that decompresses to too much

	letterWrongFabric = "wrong_fabric" // a record of another fabric in the partition
	letterWrongKind   = "wrong_kind"   // a record of another kind in the topic
	letterRejected    = "rejected"     // by the handler

	reconnectStalled = "stalled" // the log grew, but no records arrived
	reconnectErrors  = "errors"  // requests failed for too long
)

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	r := registrar{reg: reg}
	topic, flow := []string{"topic"}, []string{"topic", "fabric"}
	m := &Metrics{
		produced:       r.counter("giverny_kafka_produced_records_total", "Records that the brokers acknowledged.", topic),
		producedBytes:  r.counter("giverny_kafka_produced_bytes_total", "Payload bytes that the brokers acknowledged.", topic),
		produceSeconds: r.histogram("giverny_kafka_produce_seconds", "Time from a produce request to its acknowledgement, each attempt on its own."),
		produceRetries: r.reasons("giverny_kafka_produce_retries_total", "Retries of produce requests.", retryNetwork, retryBroker),
		produceDropped: r.reasons("giverny_kafka_produce_dropped_total", "Records that were dropped.", dropTooLarge, dropRefused, dropAbandoned),
		queuedBytes:    r.gauge("giverny_kafka_queued_bytes", "Payload bytes in memory that wait for an acknowledgement."),

		consumed:      r.counter("giverny_kafka_consumed_records_total", "Records passed to the handler.", flow),
		consumedBytes: r.counter("giverny_kafka_consumed_bytes_total", "Payload bytes passed to the handler.", flow),
		fetchSeconds:  r.histogram("giverny_kafka_fetch_seconds", "Duration of a fetch that returned records."),
		lag:           r.gauges("giverny_kafka_lag_records", "Records in the partition that have not been passed to the handler; NaN while no broker answers.", flow),
		reachable:     r.gauges("giverny_kafka_reachable", "1 if a broker answered the last fetch of the partition.", flow),
		offset:        r.gauges("giverny_kafka_offset", "Offset of the next record.", flow),
		committed:     r.gauges("giverny_kafka_committed_offset", "Offset up to which the results are stored.", flow),
		lost:          r.reasons("giverny_kafka_lost_records_total", "Records that the broker had but did not deliver, by reason.", lostGap, lostOutOfRange, lostCorrupt, lostTooLarge),
		deadLetters:   r.reasons("giverny_kafka_dead_letters_total", "Records written to the dead-letter topic, by reason.", deadLetterReasons()...),
		tailDropped:   r.reasons("giverny_kafka_tail_dropped_total", "Records that a reader without a group could not read and dropped.", deadLetterReasons()...),
		reconnects:    r.reasons("giverny_kafka_reconnects_total", "Times that all connections were closed to reconnect.", reconnectStalled, reconnectErrors),
	}
	return m, errors.Join(r.errs...)
}

func deadLetterReasons() []string {
	reasons := []string{letterWrongFabric, letterWrongKind, letterRejected}
	for _, r := range envelope.Reasons() {
		reasons = append(reasons, string(r))
	}
	return reasons
}

// registrar registers metrics and collects the errors.
type registrar struct {
	reg  prometheus.Registerer
	errs []error
}

func (r *registrar) register(c prometheus.Collector) {
	if err := r.reg.Register(c); err != nil {
		r.errs = append(r.errs, err)
	}
}

func (r *registrar) counter(name, help string, labels []string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	r.register(v)
	return v
}

func (r *registrar) reasons(name, help string, reasons ...string) *prometheus.CounterVec {
	v := r.counter(name, help, []string{"reason"})
	for _, reason := range reasons {
		v.WithLabelValues(reason)
	}
	return v
}

func (r *registrar) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	r.register(g)
	return g
}

func (r *registrar) gauges(name, help string, labels []string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	r.register(v)
	return v
}

func (r *registrar) histogram(name, help string) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.001, 2, 15)})
	r.register(h)
	return h
}
