package dashboards

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Reasons for which a stream is refused: the keys of the limits.
const (
	tooManyStreams  = "streams"
	tooManyOfClient = "streams_per_client"
)

type metrics struct {
	requests   *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
	listeners  prometheus.Gauge
	refused    *prometheus.CounterVec
	missed     prometheus.Counter
	pollErrors prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_dashboards_requests_total", Help: "API requests by endpoint and status; 499: the client closed the connection."}, []string{"endpoint", "status"}),
		seconds:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "giverny_dashboards_request_seconds", Help: "Time to answer an API request.", Buckets: prometheus.ExponentialBuckets(.001, 4, 7)}, []string{"endpoint"}),
		listeners:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "giverny_dashboards_listeners", Help: "Open event streams of pages."}),
		refused:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_dashboards_streams_refused_total", Help: "Streams refused, by the limit: streams, or streams_per_client."}, []string{"reason"}),
		missed:     prometheus.NewCounter(prometheus.CounterOpts{Name: "giverny_dashboards_announcements_dropped_total", Help: "Announcements dropped because a page was too slow."}),
		pollErrors: prometheus.NewCounter(prometheus.CounterOpts{Name: "giverny_dashboards_poll_errors_total", Help: "Failed polls of the store for a new interval."}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.seconds, m.listeners, m.refused, m.missed, m.pollErrors} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("dashboards metrics: %w", err)
		}
	}
	for _, reason := range []string{tooManyStreams, tooManyOfClient} {
		m.refused.WithLabelValues(reason)
	}
	return m, nil
}
