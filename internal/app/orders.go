package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/collectors/registry"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/feedback/slurm"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/pipeline"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search/ondemand"
)

// orders say which commands an agent takes.
type orders struct {
	cfg       command.Config
	fabric    string
	statePath string
	offer     ondemand.Config // searches
	searchDir string          // of their logs
	probed    *probed         // nil: this host is not probed
	slurm     slurm.Config    // by which the host's state is asked, where cfg says so
	sources   registry.Sources
	log       *slog.Logger

	registerer prometheus.Registerer
}

// orderStages take commands for this host: none unless the configuration names
// principals, so that the topic is not even read.
func (a *Agent) orderStages(c *collecting) ([]lifecycle.Stage, error) {
	o := a.orders
	if !o.cfg.Enabled() {
		return nil, nil
	}
	h, err := newHost(o.sources, a.name, o.log)
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
		scheduler, err := slurm.New(o.slurm)
		if err != nil {
			return nil, err
		}
		state = &slurmHost{scheduler, a.name}
	}
	id := command.Identity{Name: a.name, Fabric: o.fabric, Partition: a.parts[o.fabric]}
	source := kafka.NewConsumer(a.deps.Client, nil, kafka.Assignment{Kind: envelope.Commands, Fabric: id.Fabric, Partition: id.Partition, Tail: true, Lookback: o.cfg.Lookback()})
	agent, err := command.NewAgent(o.cfg, id, command.Deps{Source: source, Results: command.Publisher{Sink: kafka.NewProducer(a.deps.Client), Signer: a.signer}, Handlers: append(command.AgentHandlers(c), kinds...), Host: state,
		StatePath: o.statePath, Log: a.deps.Log, Registerer: a.deps.Registerer, Now: time.Now})
	if err != nil {
		return nil, err
	}
	return []lifecycle.Stage{supervised(lifecycle.Stage{Name: "commands", Run: agent.Run}, a.deps.Log)}, nil
}

// AuditDeps are what the audit works with.
type AuditDeps struct {
	Client     *kafka.Client
	Records    command.Records
	Log        *slog.Logger
	Registerer prometheus.Registerer
	// Owner is the ownership of a fabric by its partition, and the fence of its
	// offsets; nil where no other process audits it.
	Owner func(partition int) (pipeline.Owner, kafka.Fence)
}

// auditStages write the commands and results of all fabrics to the store.
func auditStages(cfg *config.Config, deps AuditDeps) ([]lifecycle.Stage, error) {
	keys, err := command.NewKeyring(cfg.Command.Principals)
	if err != nil {
		return nil, fmt.Errorf("command.principals: %w", err)
	}
	verifier, err := command.NewVerifier(cfg.Command.Results)
	if err != nil {
		return nil, fmt.Errorf("command.results.agents: %w", err)
	}
	if cfg.Command.Enabled() && !verifier.Knows() {
		deps.Log.Warn("command: results of agents are accepted without a check of their signatures, because command.results.agents is empty")
	}
	metrics, err := command.NewAuditMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	var stages []lifecycle.Stage
	letters := kafka.NewProducer(deps.Client)
	for _, f := range cfg.Fabrics {
		owner, fence := deps.Owner(f.Partition)
		consumer := func(kind envelope.Kind) *kafka.Consumer {
			return kafka.NewConsumer(deps.Client, letters, kafka.Assignment{Kind: kind, Fabric: f.Name, Partition: f.Partition, Fence: fence})
		}
		records := deps.Records
		if owner != nil {
			records = &guardedRecords{records, owner}
		}
		auditor := command.NewAuditor(f.Name, command.AuditDeps{Commands: consumer(envelope.Commands), Results: consumer(envelope.Results), Records: records,
			Keys: keys, Verifier: verifier, Log: deps.Log, Metrics: metrics})
		stage := lifecycle.Stage{Name: "audit of " + f.Name, Run: auditor.Run}
		if owner != nil {
			stage.Run = func(ctx context.Context) error { return pipeline.WhileOwner(ctx, owner, auditor.Run) }
		}
		stages = append(stages, supervised(stage, deps.Log))
	}
	return stages, nil
}

// guardedRecords are written to by the fabric's owner alone: the store knows a row
// that it has only if one process at a time writes them.
type guardedRecords struct {
	command.Records
	owner pipeline.Owner
}

func (g *guardedRecords) StoreCommands(ctx context.Context, fabric string, commands []schema.SeenCommand) error {
	ctx, done, err := g.owner.Guard(ctx)
	if err != nil {
		return err
	}
	defer done()
	return g.Records.StoreCommands(ctx, fabric, commands)
}

func (g *guardedRecords) StoreCommandResults(ctx context.Context, fabric string, results []schema.CommandResult) error {
	ctx, done, err := g.owner.Guard(ctx)
	if err != nil {
		return err
	}
	defer done()
	return g.Records.StoreCommandResults(ctx, fabric, results)
}

// collecting is the collecting part of this process, as commands see it.
type collecting struct {
	version string
	started time.Time
	pollers []*collectors.Poller
	spool   *spool.Spool
	// Of an agent that takes commands.
	hardware func() schema.HostHardware
	kinds    []string
}

// Status says what the last polls found.
func (c *collecting) Status() command.AgentStatus {
	status := command.AgentStatus{Version: c.version, Started: schema.Instant(c.started.UnixNano()), SpoolRecords: c.spool.Len()}
	if c.hardware != nil {
		h := c.hardware()
		status.Hardware, status.Kinds = &h, c.kinds
	}
	for _, p := range c.pollers {
		health := p.Health()
		status.Sources = append(status.Sources, sourceStatus(&health))
	}
	return status
}

// Refresh asks all sources side by side; a source that fails says so in its own
// status.
func (c *collecting) Refresh(ctx context.Context) ([]command.SourceStatus, error) {
	list := make([]command.SourceStatus, len(c.pollers))
	var group sync.WaitGroup
	for i, p := range c.pollers {
		group.Go(func() {
			health, err := p.Refresh(ctx)
			list[i] = sourceStatus(&health)
			if err != nil {
				list[i].State, list[i].Error = command.SourceFailing, err.Error()
			}
		})
	}
	group.Wait()
	return list, nil
}

func sourceStatus(h *collectors.Health) command.SourceStatus {
	s := command.SourceStatus{Source: h.Collector, State: command.SourceOK, Devices: h.Devices, Rows: h.Rows, SkippedPolls: h.SkippedPolls}
	if len(h.Failing) > 0 {
		s.State, s.Failing = command.SourceFailing, map[string]string{}
		for device, reason := range h.Failing {
			s.Failing[device] = reason.String()
		}
	}
	if h.Err != nil {
		s.State, s.Error = command.SourceFailing, h.Err.Error()
	}
	if h.LastPoll.IsZero() {
		s.State = command.SourceWaiting
		return s
	}
	s.LastPoll = schema.Instant(h.LastPoll.UnixNano())
	return s
}

// resultSigner signs the results of an agent; nil without a key.
func resultSigner(cfg *config.Config, agent string) (*command.Signer, error) {
	if cfg.Command.Results.KeyFile == "" {
		return nil, nil
	}
	signer, err := command.ReadSigner(agent, cfg.Command.Results.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("command.results.key_file: %w", err)
	}
	return signer, nil
}

// CommandClient makes a client that gives orders to the agents of a fabric.
func (p *Process) CommandClient(name string) (*command.Client, error) {
	client, _, err := p.commandClient(name)
	return client, err
}

// commandClient is CommandClient, and says which fabric that is.
func (p *Process) commandClient(name string) (*command.Client, config.Fabric, error) {
	f, err := fabricNamed(p.cfg, name)
	if err != nil {
		return nil, f, err
	}
	if err := p.ReachKafka(); err != nil {
		return nil, f, err
	}
	client, err := p.clientOf(f)
	return client, f, err
}

// clientOf gives orders over this process's connection to Kafka.
func (p *Process) clientOf(f config.Fabric) (*command.Client, error) {
	if p.cfg.Command.Sign.KeyFile == "" {
		return nil, errors.New("command.sign: no key to sign commands with: make one with giverny agents key FILE, name the file here, and its public half in command.principals of the agents")
	}
	signer, err := p.signer()
	if err != nil {
		return nil, err
	}
	verifier, err := command.NewVerifier(p.cfg.Command.Results)
	if err != nil {
		return nil, fmt.Errorf("command.results.agents: %w", err)
	}
	results := func() command.TailSource {
		return kafka.NewConsumer(p.client, nil, kafka.Assignment{Kind: envelope.Results, Fabric: f.Name, Partition: f.Partition, Tail: true})
	}
	return command.NewClient(signer, f.Name, f.Partition, command.ClientDeps{Sink: kafka.NewProducer(p.client), Results: results, Verifier: verifier, Log: p.log, Now: time.Now}), nil
}

// signer has the key of command.sign, nil where none is configured.
func (p *Process) signer() (*command.Signer, error) {
	sign := p.cfg.Command.Sign
	if sign.KeyFile == "" {
		return nil, nil
	}
	signer, err := command.ReadSigner(sign.Principal, sign.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("command.sign.key_file: %w", err)
	}
	return signer, nil
}

// fabricNamed is the configured fabric of that name, or the only one.
func fabricNamed(cfg config.Config, name string) (config.Fabric, error) {
	var names []string
	for _, f := range cfg.Fabrics {
		if f.Name == name || name == "" && len(cfg.Fabrics) == 1 {
			return f, nil
		}
		names = append(names, f.Name)
	}
	if len(names) == 0 {
		return config.Fabric{}, errNoFabrics
	}
	return config.Fabric{}, fmt.Errorf("--fabric %q: want one of %s", name, strings.Join(names, ", "))
}
