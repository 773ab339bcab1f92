package agent

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collectors/registry"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/feedback/slurm"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/search/ondemand"
)

// orders are the settings for the commands an agent accepts.
type orders struct {
	cfg       command.Config
	fabric    string
	statePath string
	offer     ondemand.Config // searches
	searchDir string          // for logs of searches
	probed    *probed         // nil: this host is not probed
	slurm     slurm.Config    // for querying the host's state, if cfg enables it
	sources   registry.Sources
	reads     *reads // of this host's adapters; nil if no command is accepted
	log       *slog.Logger

	registerer prometheus.Registerer
}

// orderStages handle commands for this host. There are none unless the configuration
// names principals; then the topic is not even read.
func (a *Agent) orderStages(c *collecting) ([]lifecycle.Stage, error) {
	o := a.orders
	if !o.cfg.Enabled() {
		return nil, nil
	}
	h, err := newHost(o.sources, a.name, o.reads, o.log)
	if err != nil {
		return nil, err
	}
	kinds, err := kindHandlers(&o, h)
	if err != nil {
		return nil, err
	}
	c.hardware, c.kinds = h.Hardware, kindsOf(kinds)
	var state command.Host
	if o.cfg.DrainedBy == command.DrainedBySlurm {
		scheduler, err := slurm.New(o.slurm, o.log)
		if err != nil {
			return nil, err
		}
		state = &slurmHost{scheduler, a.name}
	}
	id := command.Identity{Name: a.name, Fabric: o.fabric, Partition: a.parts[o.fabric]}
	source := kafka.NewConsumer(a.deps.Client, nil, kafka.Assignment{Kind: envelope.Commands, Fabric: id.Fabric, Partition: id.Partition, Tail: true, Lookback: o.cfg.Lookback()})
	agent, err := command.NewAgent(o.cfg, id, command.Deps{Source: source, Handlers: append(command.AgentHandlers(c), kinds...), Host: state,
		Results:   command.Publisher{Sink: kafka.NewProducer(a.deps.Client), Signer: a.signer},
		StatePath: o.statePath, Log: a.deps.Log, Registerer: a.deps.Registerer, Now: time.Now})
	if err != nil {
		return nil, err
	}
	return []lifecycle.Stage{lifecycle.Supervised(lifecycle.Stage{Name: "commands", Run: agent.Run}, a.deps.Log)}, nil
}

// ResultSigner returns the signer of an agent's results; nil without a key.
func ResultSigner(cfg *config.Config, agent string) (*command.Signer, error) {
	if cfg.Command.Results.KeyFile == "" {
		return nil, nil
	}
	signer, err := command.ReadSigner(agent, cfg.Command.Results.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("command.results.key_file: %w", err)
	}
	return signer, nil
}

// slurmHost queries Slurm whether this host is out of use.
type slurmHost struct {
	scheduler *slurm.Scheduler
	node      string
}

// Drained reports whether the host is out of use, with Slurm's name of the state.
func (s *slurmHost) Drained(ctx context.Context) (bool, string, error) {
	out, err := s.scheduler.OutOfUse(ctx, []string{s.node})
	state, drained := out[s.node]
	if !drained {
		state = "Slurm does not report it as idle and drained"
	}
	return drained, state, err
}
