package watch

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Reasons for which files and jobs are dropped.
const (
	dropNoJob      = "no_job"      // an entry of a watched folder that is no folder of a job
	dropNotRegular = "not_regular" // a link, pipe, socket or device
	dropForeign    = "foreign"     // a file that the form does not have
	dropUnreadable = "unreadable"  // a file or folder that cannot be read
	dropNoRecords  = "no_records"  // a job of which nothing could be read
	dropTooLarge   = "too_large"   // a job whose files have more bytes than allowed
	dropTooMany    = "too_many"    // a job with more files than allowed, or one beyond what is watched
	dropOld        = "old"         // a job whose files were older than max_age when first seen
	dropNoDevice   = "no_device"   // hosts that are no devices of the fabric: the report has no regions
	dropNodeMap    = "node_map"    // a map of nodes that cannot be read
	dropNotTaken   = "not_taken"   // a report that is refused for good
	dropImpossible = "no_report"   // a diagnosis of which no report can be made
)

func reasons() []string {
	return []string{dropNoJob, dropNotRegular, dropForeign, dropUnreadable, dropNoRecords, dropTooLarge, dropTooMany, dropOld, dropNoDevice, dropNodeMap, dropImpossible, dropNotTaken}
}

type metrics struct {
	published, retries, failures prometheus.Counter
	dropped                      *prometheus.CounterVec
	jobs                         prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "giverny_collective_watch_" + name, Help: help})
	}
	m := &metrics{
		published: counter("published_total", "Diagnoses of collectives that were published from watched folders."),
		retries:   counter("retries_total", "Times that a report of a collective was not taken and is tried again."),
		failures:  counter("list_failures_total", "Times that a watched folder could not be listed."),
		dropped:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_collective_watch_dropped_total", Help: "Files and jobs of watched folders that were not used, or in part, by reason."}, []string{"reason"}),
		jobs:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "giverny_collective_watch_jobs", Help: "Jobs whose records lie in watched folders."}),
	}
	for _, reason := range reasons() {
		m.dropped.WithLabelValues(reason)
	}
	return m, errors.Join(reg.Register(m.published), reg.Register(m.retries), reg.Register(m.failures), reg.Register(m.dropped), reg.Register(m.jobs))
}
