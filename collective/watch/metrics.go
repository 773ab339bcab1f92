package watch

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Reasons for dropping files and jobs.
const (
	dropNoJob      = "no_job"      // an entry of a watched folder that is not a job's folder
	dropNotRegular = "not_regular" // a link, pipe, socket or device
	dropForeign    = "foreign"     // a file that is not part of the format
	dropUnreadable = "unreadable"  // a file or folder that cannot be read
	dropNoRecords  = "no_records"  // a job without any readable records
	dropTooLarge   = "too_large"   // a job whose files exceed max_bytes
	dropTooMany    = "too_many"    // a job with more than max_files, or beyond maxJobs
	dropOld        = "old"         // a job whose files were older than max_age when first seen
	dropNoDevice   = "no_device"   // hosts that are not devices of the fabric: the report has no regions
	dropNodeMap    = "node_map"    // an unreadable node map
	dropNotTaken   = "not_taken"   // a report that was permanently rejected
	dropImpossible = "no_report"   // a diagnosis that cannot be turned into a report
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
		retries:   counter("retries_total", "Reports of collectives that were not accepted and are retried."),
		failures:  counter("list_failures_total", "Times that a watched folder could not be listed."),
		dropped:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_collective_watch_dropped_total", Help: "Files and jobs of watched folders that were skipped or used only in part, by reason."}, []string{"reason"}),
		jobs:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "giverny_collective_watch_jobs", Help: "Jobs whose records lie in watched folders."}),
	}
	for _, reason := range reasons() {
		m.dropped.WithLabelValues(reason)
	}
	return m, errors.Join(reg.Register(m.published), reg.Register(m.retries), reg.Register(m.failures), reg.Register(m.dropped), reg.Register(m.jobs))
}
