package store

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Reasons for a retry.
const (
	reasonUnreachable = "unreachable" // no answer: network, restart, timeout
	reasonDiskFull    = "disk_full"
	reasonOverloaded  = "overloaded" // too many parts, queries or bytes in memory
	reasonRefused     = "refused"    // credentials or rights
	reasonSchema      = "schema"     // a table or column is not what it should be
	reasonReplicas    = "replicas"   // of a cluster: too few, lagging, or without Keeper
	reasonOther       = "other"
)

var retryReasons = []string{reasonUnreachable, reasonDiskFull, reasonOverloaded, reasonRefused, reasonSchema, reasonReplicas, reasonOther}

// Reasons why a value cannot be stored; it is stored as missing.
const (
	reasonNotFinite  = "not_finite"
	reasonOutOfRange = "out_of_range"
)

// reasonMissing is why a row is dropped: it is not in its table after mostRepeats repeats of an acknowledged insert.
const reasonMissing = "missing_after_insert"

// Outcomes of an interval.
const (
	resultStored  = "stored"
	resultAlready = "already_stored"
)

type metrics struct {
	intervals      *prometheus.CounterVec
	rows           *prometheus.CounterVec
	retries        *prometheus.CounterVec
	rowsDropped    *prometheus.CounterVec
	valuesDropped  *prometheus.CounterVec
	storeSeconds   prometheus.Histogram
	readToStored   prometheus.Histogram
	querySeconds   *prometheus.HistogramVec
	rollUps        *prometheus.CounterVec
	rollUpFailures *prometheus.CounterVec
	ready          prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		intervals:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_store_intervals_total", Help: "Intervals passed to the store, by outcome."}, []string{"result"}),
		rows:           prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_store_rows_total", Help: "Rows written, by table."}, []string{"table"}),
		retries:        prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_store_retries_total", Help: "Retries of statements, by reason."}, []string{"reason"}),
		rowsDropped:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_store_rows_dropped_total", Help: "Rows that the server acknowledged repeatedly and does not have, by reason."}, []string{"reason"}),
		valuesDropped:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_store_values_dropped_total", Help: "Link values stored as missing and diagnoses omitted because no column can hold them, by reason."}, []string{"reason"}),
		storeSeconds:   prometheus.NewHistogram(prometheus.HistogramOpts{Name: "giverny_store_seconds", Help: "Time to store one interval, retries included.", Buckets: prometheus.ExponentialBuckets(0.005, 2, 14)}),
		readToStored:   prometheus.NewHistogram(prometheus.HistogramOpts{Name: "giverny_store_read_to_stored_seconds", Help: "Time from an interval's first counter reading until the interval was stored.", Buckets: prometheus.ExponentialBuckets(0.25, 2, 14)}),
		querySeconds:   prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "giverny_store_query_seconds", Help: "Duration of queries, by the name of the SQL file.", Buckets: prometheus.ExponentialBuckets(0.002, 4, 8)}, []string{"query"}),
		rollUps:        prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_store_rolled_up_hours_total", Help: "Hours of event time rolled up, including hours rolled up again, by fabric."}, []string{"fabric"}),
		rollUpFailures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_store_roll_up_failures_total", Help: "Failures to roll up, each followed by a retry, by fabric; queries over long spans read all rows meanwhile."}, []string{"fabric"}),
		ready:          prometheus.NewGauge(prometheus.GaugeOpts{Name: "giverny_store_ready", Help: "1 if the last statement and the last write succeeded."}),
	}
	for _, c := range []prometheus.Collector{m.intervals, m.rows, m.retries, m.rowsDropped, m.valuesDropped, m.storeSeconds, m.readToStored, m.querySeconds, m.rollUps, m.rollUpFailures, m.ready} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	for _, result := range []string{resultStored, resultAlready} {
		m.intervals.WithLabelValues(result)
	}
	for _, t := range slices.Concat(tables, facts) {
		m.rows.WithLabelValues(t.name)
	}
	m.rows.WithLabelValues(marker.name)
	m.rows.WithLabelValues(statesTable)
	m.rows.WithLabelValues("rollups")
	for _, reason := range retryReasons {
		m.retries.WithLabelValues(reason)
	}
	m.rowsDropped.WithLabelValues(reasonMissing)
	for _, reason := range []string{reasonNotFinite, reasonOutOfRange} {
		m.valuesDropped.WithLabelValues(reason)
	}
	return m, nil
}
