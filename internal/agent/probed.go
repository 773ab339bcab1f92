package agent

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/giverny/giverny/collectors/ethtool"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/local"
	"github.com/giverny/giverny/hostping/monitor"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/hostping/prober"
	"github.com/giverny/giverny/hostping/utilisation"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/schema"
)

// probed is this host as a target of probes.
type probed struct {
	*local.Host
	cfg    config.Hostping
	source *utilisation.Source
	rnics  *utilisation.RNICs
}

// newProbed returns nil if this host is not to be probed.
func newProbed(cfg *config.Config, log *slog.Logger) (*probed, error) {
	if !cfg.Hostping.Enabled() {
		return nil, nil
	}
	p := &probed{cfg: cfg.Hostping, rnics: &utilisation.RNICs{Now: time.Now}}
	if linux, err := ethtool.OpenLinux(); err == nil {
		p.rnics.Stats = linux
	} else {
		log.Warn("hostping: pauses of RNICs cannot be monitored", "error", err)
	}
	source := func(g *hostping.Graph) prober.Source {
		p.source = utilisation.New(cfg.Hostping.Utilisation, g, p.rnics)
		return p.source
	}
	var err error
	p.Host, err = local.New(cfg.Hostping.Host, local.Deps{Source: source, Dir: filepath.Join(cfg.DataDir, "hostping"), Log: log, Now: time.Now})
	return p, err
}

// monitorStage probes this host automatically and publishes the reports like command
// results; no stage if that is off.
func (a *Agent) monitorStage(out command.Publisher) ([]lifecycle.Stage, error) {
	p := a.orders.probed
	if p == nil || !p.cfg.Monitor.Enabled {
		return nil, nil
	}
	report := func(ctx context.Context, outcome order.Outcome) error {
		text, err := command.Output(&outcome)
		if err != nil {
			outcome.Graph = nil // the page then draws no graph
			if text, err = command.Output(&outcome); err != nil {
				return err
			}
		}
		now := schema.InstantOf(time.Now())
		result := schema.CommandResult{CommandID: order.MonitorID(a.name, now), Fabric: a.orders.fabric, Agent: a.name, Time: now, Status: schema.CommandDone, Kind: order.Kind, Output: text}
		return out.Publish(ctx, a.parts[a.orders.fabric], &result)
	}
	m, err := monitor.New(p.cfg.Monitor, monitor.Deps{Host: p.Host, RNICs: p.rnics, Source: p.source, Report: report, Log: a.deps.Log, Registerer: a.deps.Registerer, Now: time.Now})
	if err != nil {
		return nil, err
	}
	return []lifecycle.Stage{lifecycle.Supervised(lifecycle.Stage{Name: "hostping monitor", Run: m.Run}, a.deps.Log)}, nil
}
