package agent

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/collectors/registry"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/internal/ops"
	"github.com/giverny/giverny/topology"
)

// Agent reads the counters of a host into Kafka, with a poller per enabled source and
// one spool on disk for all. It accepts commands from the configured principals.
type Agent struct {
	deps    Deps
	name    string
	sources []registry.Opened
	parts   map[string]int // partitions by fabric
	spool   spool.Config
	orders  orders
	signer  *command.Signer // for results; nil: unsigned
	feeds   *feedSet
	records *recordFolders              // nil if no folders are watched
	every   time.Duration               // the fabric's interval
	queue   atomic.Pointer[spool.Spool] // nil until opened
	sink    atomic.Pointer[kafka.SpoolingProducer]
	pollers atomic.Pointer[[]*collectors.Poller] // nil until made
}

// Deps are the dependencies of an agent. All are required.
type Deps struct {
	Client     *kafka.Client
	Version    string // version of this program
	Log        *slog.Logger
	Registerer prometheus.Registerer
	Graphs     []*topology.Graph // of the fabrics, for mapping nodes of feeds to devices; unused if no feed is enabled
}

// New creates the enabled sources. It reads no counters and creates no files.
func New(cfg *config.Config, deps Deps) (*Agent, error) {
	name, err := cfg.Collect.AgentName()
	if err != nil {
		return nil, err
	}
	polling := cfg.Collect.Polling
	if polling.Interval == 0 {
		return nil, errors.New("collect.fabric: empty; name the fabric that this host's readings belong to")
	}
	sources, err := cfg.Collect.Sources.Open(name, polling)
	if err != nil {
		return nil, err
	}
	if !cfg.Collect.Enabled() {
		return nil, registry.ErrNone()
	}
	set, err := newFeedSet(cfg, name, deps)
	if err != nil {
		return nil, err
	}
	records, err := newRecordFolders(cfg, name, deps)
	if err != nil {
		return nil, err
	}
	probed, err := newProbed(cfg, deps.Log)
	if err != nil {
		return nil, err
	}
	if _, err := cfg.Search.Offer.Rigs(); err != nil { // fail now, not at the first command
		return nil, err
	}
	signer, err := ResultSigner(cfg, name)
	if err != nil {
		return nil, err
	}
	reads, err := newReads(polling.DeviceTimeout, deps.Registerer)
	if err != nil {
		return nil, err
	}
	taken := orders{cfg: cfg.Command, fabric: polling.Fabric, statePath: filepath.Join(cfg.DataDir, "commands.json"),
		offer: cfg.Search.Offer, searchDir: filepath.Join(cfg.DataDir, "searches"), probed: probed, slurm: cfg.Feedback.Slurm,
		sources: cfg.Collect.Sources, reads: reads, log: deps.Log, registerer: deps.Registerer}
	return &Agent{deps: deps, name: name, signer: signer, sources: sources, feeds: set, records: records, every: polling.Interval,
		parts: config.PartitionOf(cfg.Fabrics), spool: cfg.AgentSpool(), orders: taken}, nil
}

// Register adds the agent's checks and states to those of the process.
func (a *Agent) Register(o *ops.Ops) {
	o.AddCheck("records", a.accepted)
	o.AddState("spool", a.spoolState)
	o.AddState("sources", a.sourcesState)
	o.AddState("adapters", a.orders.reads.State)
	for _, r := range a.feeds.runners() {
		o.AddState("feed "+r.Name(), r.State)
	}
	if a.records != nil {
		o.AddState("collectives", a.records.watcher.State)
	}
}

// Uses reports whether feeds or folders of records resolve nodes in a fabric.
func (a *Agent) Uses(fabric string) bool { return a.feeds.uses(fabric) || a.records.uses(fabric) }

// SetGraph sets a new topology version of a fabric for resolving nodes.
func (a *Agent) SetGraph(g *topology.Graph) error {
	if a.records != nil {
		a.records.setGraph(g)
	}
	return a.feeds.setGraph(g)
}

// spoolState describes the backlog and losses of the spool; empty if there are none.
func (a *Agent) spoolState() string {
	if queue := a.queue.Load(); queue != nil {
		return queue.State()
	}
	return ""
}

// accepted returns why Kafka accepts no records of this agent, although it may answer.
func (a *Agent) accepted(ctx context.Context) error {
	if sink := a.sink.Load(); sink != nil {
		return sink.Ready(ctx)
	}
	return nil
}

// sourcesState names the sources whose last poll found nothing to read; "" if there are none.
func (a *Agent) sourcesState() string {
	pollers := a.pollers.Load()
	if pollers == nil {
		return ""
	}
	var silent []string
	for _, p := range *pollers {
		if state := p.State(); state != "" {
			silent = append(silent, p.Health().Collector+": "+state)
		}
	}
	return strings.Join(silent, "; ")
}

// Stages opens the spool, and returns the pollers and the stages that send their
// records, in the order of the data.
func (a *Agent) Stages() (pollers, sending []lifecycle.Stage, err error) {
	queue, err := spool.Open(a.spool, a.deps.Registerer, a.deps.Log)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, queue.Close())
		}
	}()
	a.queue.Store(queue)
	sink, err := kafka.NewSpoolingProducer(kafka.NewProducer(a.deps.Client), queue, a.every/2)
	if err != nil {
		return nil, nil, err
	}
	a.sink.Store(sink)
	agent, err := collectors.NewAgent(a.name, emitter.New(sink, a.parts), a.deps.Log, a.deps.Registerer)
	if err != nil {
		return nil, nil, err
	}
	var list []*collectors.Poller
	for _, source := range a.sources {
		poller, err := collectors.New(source.Config, source.Collector, agent)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, poller)
		pollers = append(pollers, lifecycle.Stage{Name: "poller " + source.Collector.Name(), Run: poller.Run})
	}
	a.pollers.Store(&list)
	// Feeds have their own emitter, so that rows waiting for Kafka do not block counters.
	a.feeds.out.emitter = emitter.New(sink, a.parts)
	for _, runner := range a.feeds.runners() {
		pollers = append(pollers, lifecycle.Stage{Name: "feed " + runner.Name(), Run: runner.Run})
	}
	if a.records != nil {
		a.records.out = command.Publisher{Sink: sink, Signer: a.signer}
		pollers = append(pollers, lifecycle.Stage{Name: "collective records", Run: a.records.watcher.Run})
	}
	taking, err := a.orderStages(&collecting{version: a.deps.Version, started: time.Now(), pollers: list, spool: queue})
	if err != nil {
		return nil, nil, err
	}
	monitoring, err := a.monitorStage(command.Publisher{Sink: sink, Signer: a.signer})
	if err != nil {
		return nil, nil, err
	}
	return append(append(pollers, taking...), monitoring...), []lifecycle.Stage{{Name: "spool", Run: func(ctx context.Context) error {
		return errors.Join(sink.Run(ctx), queue.Close())
	}}}, nil
}
