package app

import (
	"context"
	"errors"
	"slices"

	"github.com/giverny/giverny/dashboards"
	"github.com/giverny/giverny/feedback"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/lease"
	"github.com/giverny/giverny/internal/agent"
	"github.com/giverny/giverny/internal/boot"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/pipeline"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
	"github.com/giverny/giverny/topology"
)

// Role selects the parts of a process.
type Role struct {
	Collect, Analyse, Serve bool
	Sinks                   []pipeline.Sink // for every fabric, in addition to the role's own
}

// name is that of the command whose role has no page.
func (r Role) name() string {
	if r.Analyse {
		return "analyze"
	}
	return "collect"
}

// Parts are the parts of a role, created but not started.
type Parts struct {
	process   *Process
	fabrics   []Fabric
	agent     *agent.Agent
	pages     *dashboards.Dashboards
	pipelines []*pipeline.Fabric
	replay    *lifecycle.Stage // of day files; nil: none
	audit     []lifecycle.Stage
	leases    *lease.Group // of the fabrics; nil: not shared with other processes
	watcher   *topologyWatcher
	feedback  *feedback.Hub // nil if the process does not analyse
	policies  []policy      // that launch searches and probes automatically
}

// Make creates all parts of a role and joins all errors.
func (p *Process) Make(r Role, fabrics []Fabric) (*Parts, error) {
	var errs []error
	if r.Collect || r.Analyse {
		errs = append(errs, p.useKafka())
	}
	switch {
	case r.Analyse:
		errs = append(errs, p.useStore())
	case r.Serve:
		errs = append(errs, p.useStoreBeside())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p.assemble(r, fabrics)
}

// assemble creates the parts that need Kafka and the store.
func (p *Process) assemble(r Role, fabrics []Fabric) (*Parts, error) {
	parts := &Parts{process: p, fabrics: fabrics}
	var errs []error
	if r.Serve {
		errs = append(errs, parts.makePages())
	}
	if r.Analyse {
		p.warnOfRetention(fabrics)
		parts.makeLeases()
		if err := parts.makeFeedback(); err != nil {
			errs = append(errs, err)
		} else {
			errs = append(errs, parts.makePolicies())
		}
		errs = append(errs, parts.makePipelines(r.Sinks), parts.makeAudit())
	}
	if r.Collect {
		errs = append(errs, parts.makeAgent())
	}
	errs = append(errs, parts.makeWatcher())
	return parts, errors.Join(errs...)
}

func (parts *Parts) makePages() (err error) {
	p := parts.process
	shown := make([]dashboards.Fabric, len(parts.fabrics))
	for i, f := range parts.fabrics {
		shown[i] = dashboards.Fabric{Graph: f.Graph, Interval: f.Interval()}
	}
	partitions := map[string]int{}
	for _, f := range parts.fabrics {
		partitions[f.Name] = f.Partition
	}
	deps := dashboards.Deps{Model: read.New(p.db), Scores: p.cfg.Feedback.Score, Workloads: p.cfg.Search.Workloads, Log: p.log, Registerer: p.registerer}
	if q := p.askOwners(); q != nil {
		deps.Owner = func(ctx context.Context, fabric string) (string, bool) {
			return q.explain(ctx, fabric, partitions[fabric])
		}
	}
	if parts.pages, err = dashboards.New(p.cfg.Dashboards, shown, deps); err == nil {
		parts.pages.Register(p.mux)
	}
	return err
}

func (parts *Parts) makeAgent() (err error) {
	p := parts.process
	if parts.fabrics == nil && (p.cfg.Collect.FeedsEnabled() || p.cfg.Collect.Collectives.Enabled()) {
		if parts.fabrics, err = StartFabrics(&p.cfg, p.log); err != nil {
			return err
		}
	}
	deps := agent.Deps{Client: p.client, Version: p.version, Log: p.log, Registerer: p.registerer}
	for _, f := range parts.fabrics {
		deps.Graphs = append(deps.Graphs, f.Graph)
	}
	if parts.agent, err = agent.New(&p.cfg, deps); err != nil {
		return err
	}
	parts.agent.Register(p.ops)
	return nil
}

// rollUps maintain the roll-ups of the fabrics that this process analyses.
func (parts *Parts) rollUps() (stages Step) {
	p := parts.process
	if len(parts.pipelines) == 0 || p.cfg.Store.Tables.RollUpInterval == 0 {
		return nil
	}
	for _, f := range parts.fabrics {
		keep := func(ctx context.Context) error { return p.db.KeepRolledUp(ctx, f.Name) }
		stage := lifecycle.Stage{Name: "roll-ups of " + f.Name, Run: keep}
		if owner, _ := parts.ownership(f.Partition); owner != nil { // two writers would count twice
			stage.Run = func(ctx context.Context) error { return pipeline.WhileOwner(ctx, owner, keep) }
		}
		stages = append(stages, lifecycle.Supervised(stage, p.log))
	}
	return stages
}

// makeLeases joins the group of analysers that share these fabrics. With an embedded
// broker the fabrics are this process's alone, because it holds the lock on the folder.
func (parts *Parts) makeLeases() {
	p := parts.process
	if p.broker != nil || !p.client.Config().Consumer.Share {
		return
	}
	names := map[int]string{}
	for _, f := range parts.fabrics {
		names[f.Partition] = f.Name
	}
	parts.leases = lease.New(p.newCoordinator(), p.client.Config().Consumer.SessionTimeout, names, boot.Clock, p.log)
	p.ops.AddCheck("consumer group", parts.leases.Ready)
}

// ownership returns the owner of a fabric and the fence for its offsets; nil if the
// fabrics are this process's alone.
func (parts *Parts) ownership(partition int) (pipeline.Owner, kafka.Fence) {
	if parts.leases == nil {
		return nil, nil
	}
	l := parts.leases.Of(partition)
	return l, l.Fence
}

// makePipelines creates the pipeline of every fabric.
func (parts *Parts) makePipelines(sinks []pipeline.Sink) error {
	p := parts.process
	metrics, err := pipeline.NewMetrics(p.registerer)
	if err != nil {
		return err
	}
	db, producer := pipeline.NewStore(p.db), kafka.NewProducer(p.client)
	var errs []error
	for _, f := range parts.fabrics {
		owner, fence := parts.ownership(f.Partition)
		line, err := pipeline.New(f.Graph, f.Analysis, pipeline.Deps{Log: p.log, Metrics: metrics, Store: db, Owner: owner,
			Sinks: append(parts.announcers(f, producer), parts.sinks(f.Name, sinks)...),
			Sources: func() []pipeline.Source {
				return pipeline.KafkaSources(p.client, producer, f.Name, f.Partition, f.Interval(), fence)
			}})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		parts.pipelines = append(parts.pipelines, line)
		if parts.pages != nil {
			parts.pages.Watch(f.Name, func() (schema.NetworkForecast, bool) { return line.Status(), !line.Standby() })
		}
		p.ops.AddCheck("fabric "+f.Name, line.Ready)
		p.ops.AddState("fabric "+f.Name, line.State)
	}
	return errors.Join(errs...)
}

// announcers publish the results of a fabric's analysis to Kafka.
func (parts *Parts) announcers(f Fabric, producer *kafka.Producer) []pipeline.Sink {
	client := parts.process.client
	return []pipeline.Sink{pipeline.NewAnnouncer(client, producer, f.Name, f.Partition, parts.process.log),
		pipeline.NewDiagnosisAnnouncer(client, producer, f.Name, f.Partition)}
}

// sinks consume the results of a fabric within this process: the role's sinks, the page, feedback, and the policies
// that launch searches and probes.
func (parts *Parts) sinks(fabric string, role []pipeline.Sink) []pipeline.Sink {
	own := slices.Clone(role)
	if parts.pages != nil {
		own = append(own, parts.pages)
	}
	if parts.feedback != nil {
		for _, s := range parts.feedback.Sinks(fabric) {
			own = append(own, s)
		}
	}
	for _, made := range parts.policies {
		own = append(own, made)
	}
	return own
}

// makeWatcher watches the topology files for the parts that use their graphs.
func (parts *Parts) makeWatcher() (err error) {
	p := parts.process
	var files []*topologyFile
	kept := newKeptGraphs(&p.cfg, p.log)
	for _, f := range parts.fabrics {
		file := &topologyFile{fabric: f.Name, graph: f.Graph, read: func(previous *topology.Graph) (*topology.Graph, error) {
			return config.UpdateTopology(f.Fabric, previous, p.log)
		}, keep: func(g *topology.Graph) { kept.keep(f.Topology, g) }}
		if f.refused != nil {
			file.refuse(f.refused)
		}
		if !topology.IsSpec(f.Topology) {
			file.path = f.Topology
		}
		if parts.feedback != nil { // before the pipeline's results refer to the new version
			file.take = append(file.take, parts.feedback.SetGraph)
		}
		for _, line := range parts.pipelines {
			if line.Name() == f.Name {
				file.take = append(file.take, line.SetGraph)
			}
		}
		if parts.agent != nil && parts.agent.Uses(f.Name) {
			file.take = append(file.take, parts.agent.SetGraph)
		}
		if parts.pages != nil {
			file.take = append(file.take, func(g *topology.Graph) error { parts.pages.SetGraph(g); return nil })
		}
		if len(file.take) > 0 {
			files = append(files, file)
			p.ops.AddState("topology of "+f.Name, file.State)
		}
	}
	parts.watcher, err = newTopologyWatcher(files, p.log, p.registerer) // without files, too: SIGHUP ends no role
	return err
}

// RunRole creates the parts of a role and runs them until ctx is cancelled.
func (p *Process) RunRole(ctx context.Context, r Role, fabrics []Fabric) error {
	l, err := p.listenPatiently(ctx)
	if err != nil {
		return err
	}
	parts, err := p.Make(r, fabrics)
	if err == nil && !r.Analyse {
		err = p.engineIsFree(leaveTime)
	}
	if err == nil {
		err = p.listenForAnalysts()
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if r.Serve {
		p.log.Info("dashboards: page served", "url", l.URL(p.cfg.HTTP.TLS.Enabled()))
	} else {
		p.ops.RegisterNoPage(p.mux, r.name(), l.Metrics.Addr().String())
		p.log.Info("app: started without the page, which giverny serve has", "role", r.name(), "health", l.URL(p.cfg.HTTP.TLS.Enabled())+"/-/ready", "metrics", "http://"+l.Metrics.Addr().String()+"/metrics")
	}
	return p.Run(ctx, l, parts.Steps)
}
