package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/feedback/slurm"
	hostlaunch "github.com/giverny/giverny/hostping/launch"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/pipeline"
	searchlaunch "github.com/giverny/giverny/search/launch"
	"github.com/giverny/giverny/store/read"
)

// dispatcher returns a dispatcher that sends commands based on diagnoses in a fabric.
func (p *Process) dispatcher(client *command.Client, fabric string, askSlurm bool) (*dispatch.Dispatcher, error) {
	d := &dispatch.Dispatcher{Fabric: fabric, Bus: client, Store: read.New(p.db), Now: time.Now, ListWait: dispatch.DefaultListWait, StartWait: dispatch.DefaultStartWait}
	if askSlurm {
		nodes, err := slurm.New(p.cfg.Feedback.Slurm, p.log)
		if err != nil {
			return nil, err
		}
		d.Nodes = nodes
	}
	return d, nil
}

func (p *Process) searchLauncher(client *command.Client, fabric string) (*searchlaunch.Launcher, error) {
	dispatcher, err := p.dispatcher(client, fabric, p.cfg.Search.Launch.Slurm)
	if err != nil {
		return nil, err
	}
	return &searchlaunch.Launcher{Dispatcher: dispatcher, Config: p.cfg.Search.Launch, Findings: read.New(p.db)}, nil
}

func (p *Process) hostLauncher(client *command.Client, fabric string) (*hostlaunch.Launcher, error) {
	dispatcher, err := p.dispatcher(client, fabric, p.cfg.Hostping.Launch.Slurm)
	if err != nil {
		return nil, err
	}
	return &hostlaunch.Launcher{Dispatcher: dispatcher, Config: p.cfg.Hostping.Launch, Runs: read.New(p.db)}, nil
}

// LaunchingSearches calls do with a search launcher for a fabric, or the only one, once
// the store is ready.
func (p *Process) LaunchingSearches(ctx context.Context, fabric string, do func(context.Context, *searchlaunch.Launcher) error) error {
	return launching(ctx, p, fabric, p.searchLauncher, do)
}

// LaunchingProbes calls do with a hostping launcher for a fabric, or the only one, once
// the store is ready.
func (p *Process) LaunchingProbes(ctx context.Context, fabric string, do func(context.Context, *hostlaunch.Launcher) error) error {
	return launching(ctx, p, fabric, p.hostLauncher, do)
}

func launching[L any](ctx context.Context, p *Process, fabric string, launcher func(*command.Client, string) (L, error), do func(context.Context, L) error) error {
	if err := p.useStoreBeside(); err != nil {
		return err
	}
	client, f, err := p.commandClient(fabric)
	if err != nil {
		return err
	}
	l, err := launcher(client, f.Name)
	if err != nil {
		return err
	}
	return p.withStore(ctx, func(ctx context.Context) error { return do(ctx, l) })
}

// policy launches commands based on diagnoses: a sink of results with a Run loop.
type policy interface {
	pipeline.Sink
	Run(ctx context.Context) error
}

// makePolicies creates the policies for automatic searches and hostping runs, if enabled.
func (parts *Parts) makePolicies() error {
	p := parts.process
	return errors.Join(
		makePolicy(parts, "search.launch.policy", p.cfg.Search.Launch.Policy, searchlaunch.SinkName, searchlaunch.Reasons(), p.searchLauncher, searchlaunch.NewPolicy),
		makePolicy(parts, "hostping.launch.policy", p.cfg.Hostping.Launch.Policy, hostlaunch.SinkName, hostlaunch.Reasons(), p.hostLauncher, hostlaunch.NewPolicy),
	)
}

// makePolicy creates a policy if it is enabled, and registers it as a sink and a stage. key is that of its configuration; made
// creates it with a launcher for each fabric.
func makePolicy[L any, P policy](parts *Parts, key string, cfg dispatch.PolicyConfig, sink string, reasons []string,
	launcher func(*command.Client, string) (L, error), made func(dispatch.PolicyConfig, map[string]L, *record.Recorder, func() time.Time) P) error {
	if !cfg.Enabled {
		return nil
	}
	launchers, err := eachFabric(parts, launcher)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	rec := parts.feedback.Recorder(sink, reasons)
	launches := made(cfg, launchers, rec, time.Now)
	parts.policies = append(parts.policies, launches)
	parts.process.ops.AddState(launches.Name(), rec.State)
	return nil
}

// eachFabric creates a launcher for each fabric, by name.
func eachFabric[L any](parts *Parts, launcher func(*command.Client, string) (L, error)) (map[string]L, error) {
	launchers := map[string]L{}
	for _, f := range parts.fabrics {
		client, err := parts.process.clientOf(f.Fabric)
		if err != nil {
			return nil, err
		}
		if launchers[f.Name], err = launcher(client, f.Name); err != nil {
			return nil, err
		}
	}
	return launchers, nil
}

// policyStages returns the stages that run the policies.
func (parts *Parts) policyStages() (stages Step) {
	for _, made := range parts.policies {
		stages = append(stages, lifecycle.Stage{Name: made.Name(), Run: made.Run})
	}
	return stages
}
