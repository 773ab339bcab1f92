package config

import (
	"github.com/giverny/giverny/hostping/launch"
	"github.com/giverny/giverny/hostping/local"
	"github.com/giverny/giverny/hostping/monitor"
	"github.com/giverny/giverny/hostping/ondemand"
	"github.com/giverny/giverny/hostping/utilisation"
	"github.com/giverny/giverny/internal/faults"
)

// Hostping is the configuration of probes inside hosts.
type Hostping struct {
	// How this host is probed.
	Host local.Config `yaml:"host"`
	// What this host's agent probes for others.
	Offer ondemand.Config `yaml:"offer"`
	// Automatic probes of this host.
	Monitor monitor.Config `yaml:"monitor"`
	// The tools that measure the utilisation of this host.
	Utilisation utilisation.Config `yaml:"utilisation"`
	// Probes of hosts that are launched because of diagnoses.
	Launch launch.Config `yaml:"launch"`
}

func defaultHostping() Hostping {
	return Hostping{Host: local.DefaultConfig(), Offer: ondemand.DefaultConfig(), Monitor: monitor.DefaultConfig(), Utilisation: utilisation.DefaultConfig(), Launch: launch.DefaultConfig()}
}

// Enabled reports whether this host is probed at all.
func (h *Hostping) Enabled() bool { return h.Offer.Enabled || h.Monitor.Enabled }

// Validate joins all errors.
func (h *Hostping) Validate() error {
	var f faults.List
	f.Under("host", h.Host.Validate())
	f.Under("offer", h.Offer.Validate())
	f.Under("monitor", h.Monitor.Validate())
	f.Under("utilisation", h.Utilisation.Validate())
	f.Check(!h.Monitor.Enabled || h.Host.Baseline != "" || h.Host.Prober == "", "host.baseline", "empty; the monitor compares with the baseline of this host's model")
	f.Under("launch", h.Launch.Validate())
	f.Check(!h.Enabled() || h.Host.Enabled(), "host.prober", "empty; want perftest or exec if this host is to be probed")
	return f.Err()
}
