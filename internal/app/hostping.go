package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/hostping/launch"
	"github.com/giverny/giverny/hostping/local"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/pipeline"
	"github.com/giverny/giverny/store/read"
)

// newProbed makes what probes this host; nil where it is not to be probed.
func newProbed(cfg *config.Hostping, dataDir string, log *slog.Logger) (*local.Host, error) {
	if !cfg.Enabled() {
		return nil, nil
	}
	return local.New(cfg.Host, local.Deps{Dir: filepath.Join(dataDir, "hostping"), Log: log, Now: time.Now})
}

// hostLauncher launches runs in a fabric.
func (p *Process) hostLauncher(client *command.Client, fabric string) (*launch.Launcher, error) {
	desk, err := p.desk(client, fabric, p.cfg.Hostping.Launch.Slurm)
	if err != nil {
		return nil, err
	}
	return &launch.Launcher{Desk: desk, Config: p.cfg.Hostping.Launch, Runs: read.New(p.db)}, nil
}

// HostLaunching calls back with what launches runs in a fabric, or in the only one,
// once the store is ready.
func (p *Process) HostLaunching(ctx context.Context, fabric string, do func(context.Context, *launch.Launcher) error) error {
	if err := p.UseStore(); err != nil {
		return err
	}
	client, f, err := p.commandClient(fabric)
	if err != nil {
		return err
	}
	l, err := p.hostLauncher(client, f.Name)
	if err != nil {
		return err
	}
	return p.withStore(ctx, func(ctx context.Context) error { return do(ctx, l) })
}

// policy is what launches commands by diagnoses: a sink of results that runs.
type policy interface {
	pipeline.Sink
	Run(ctx context.Context) error
}

// makeHostPolicy makes what probes hosts by itself, where that is switched on.
func (parts *Parts) makeHostPolicy() error {
	p := parts.process
	cfg := p.cfg.Hostping.Launch.Policy
	if !cfg.Enabled {
		return nil
	}
	launchers := map[string]*launch.Launcher{}
	for _, f := range parts.fabrics {
		client, err := p.clientOf(f.Fabric)
		if err != nil {
			return fmt.Errorf("hostping.launch.policy: %w", err)
		}
		if launchers[f.Name], err = p.hostLauncher(client, f.Name); err != nil {
			return err
		}
	}
	rec := parts.feedback.Recorder(launch.SinkName, launch.Reasons())
	parts.addPolicy(launch.NewPolicy(cfg, launchers, rec, time.Now), rec.State)
	return nil
}

// addPolicy has a policy see results and run.
func (parts *Parts) addPolicy(made policy, state func() string) {
	parts.policies = append(parts.policies, made)
	parts.process.ops.AddState(made.Name(), state)
}

// policyStages run the policies.
func (parts *Parts) policyStages() (stages Step) {
	for _, made := range parts.policies {
		stages = append(stages, lifecycle.Stage{Name: made.Name(), Run: made.Run})
	}
	return stages
}
