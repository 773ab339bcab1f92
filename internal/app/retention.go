package app

import (
	"math"
	"time"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/topology"
)

// Bytes that the counters of an interval take in Kafka, as measured with 11,664 agents that send a record of 52 counters
// each, and one perfquery for all switches (docs/how-to/run-on-a-cluster.md).
const (
	bytesPerHost       = 2800
	bytesPerSwitchPort = 64
)

// warnOfRetention logs for which fabrics Kafka would delete counters that late readings, or a restart, still need.
func (p *Process) warnOfRetention(fabrics []Fabric) {
	for i := range fabrics {
		f := &fabrics[i]
		needed := neededFor(f)
		if kept := p.cfg.Kafka.Client.Retention; kept < needed {
			p.log.Warn("kafka: kafka.retention is shorter than late readings may take, their intervals would stay incomplete; raise it, or lower complete_within of the fabric",
				"fabric", f.Name, "retention", kept, "needed", needed)
		}
		if kept := keptEmbedded(&p.cfg, f); p.cfg.Kafka.Embedded && kept < needed {
			p.log.Warn("kafka: the embedded broker keeps counters of this fabric for less time than late readings may take, if every host has an agent; raise kafka.embedded_broker.retention_bytes, lower complete_within of the fabric, or use brokers",
				"fabric", f.Name, "retention_bytes", p.cfg.Kafka.Broker.RetentionBytes, "estimate", kept.Round(time.Minute), "needed", needed)
		}
	}
}

// neededFor is the age of the oldest counters from which an interval of a fabric may have to be analysed again.
func neededFor(f *Fabric) time.Duration {
	a := &f.Analysis
	return a.CompleteWithin + a.Hold + a.Lateness() + time.Duration(a.Window.MaxGapIntervals+1)*a.Window.Interval
}

// keptEmbedded estimates for how long the embedded broker's limit on bytes keeps the counters of a fabric.
func keptEmbedded(cfg *config.Config, f *Fabric) time.Duration {
	limit := cfg.Kafka.Broker.RetentionBytes
	if limit < 0 {
		return math.MaxInt64
	}
	hosts := len(f.Graph.Hosts())
	perInterval := hosts * bytesPerHost
	for d := range topology.DeviceID(f.Graph.NumDevices()) {
		if f.Graph.IsSwitch(d) {
			perInterval += len(f.Graph.LinksAt(d)) / 2 * bytesPerSwitchPort // a port has a link each way
		}
	}
	const most = 100 * 365 * 24 * time.Hour // a small fabric with long intervals would overflow
	return time.Duration(min(float64(limit)/float64(max(perInterval, 1))*float64(f.Interval()), float64(most)))
}
