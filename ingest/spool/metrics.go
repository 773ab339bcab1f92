package spool

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Reasons for the loss of a record.
const (
	DropFull     = "spool_full"  // the oldest was dropped: the spool is at max_bytes
	DropDisk     = "disk_full"   // the oldest was dropped: the disk is full
	DropCorrupt  = "corrupt"     // a damaged record, and the rest of its file
	DropWrite    = "write_error" // the newest could not be written
	DropTooLarge = "too_large"   // the receiver refused it as too long
	DropRefused  = "refused"     // the receiver permanently rejected it
)

// Kinds of I/O errors.
const (
	errorWrite = "write_error"
	errorRead  = "read_error"
)

// metrics of a spool.
type metrics struct {
	records, bytes  prometheus.Gauge
	dropped, errors *prometheus.CounterVec // reason
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		records: prometheus.NewGauge(prometheus.GaugeOpts{Name: "giverny_spool_records", Help: "Records in the spool."}),
		bytes:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "giverny_spool_bytes", Help: "Size of the spool on disk."}),
		dropped: reasons("giverny_spool_dropped_total", "Records that the spool lost, by reason.", DropFull, DropDisk, DropCorrupt, DropWrite, DropTooLarge, DropRefused),
		errors:  reasons("giverny_spool_errors_total", "I/O errors of the spool.", errorWrite, errorRead),
	}
	return m, errors.Join(reg.Register(m.records), reg.Register(m.bytes), reg.Register(m.dropped), reg.Register(m.errors))
}

// reasons returns a counter whose reason labels start at zero.
func reasons(name, help string, reasons ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"reason"})
	for _, reason := range reasons {
		v.WithLabelValues(reason)
	}
	return v
}
