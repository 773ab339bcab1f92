package app

import (
	"context"
	"fmt"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/feedback/slurm"
	hostondemand "github.com/giverny/giverny/hostping/ondemand"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search/launch"
	"github.com/giverny/giverny/search/ledger"
	"github.com/giverny/giverny/search/ondemand"
	"github.com/giverny/giverny/search/run"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/read"
)

// kindHandlers are those of the kinds that the configuration of this host offers. A
// kind more is a handler more here.
func kindHandlers(o *orders, h *host) (handlers []command.Handler, err error) {
	if o.offer.Enabled() {
		metrics, err := run.NewMetrics(o.registerer)
		if err != nil {
			return nil, err
		}
		search, err := ondemand.New(o.offer, ondemand.Deps{Hardware: h.Hardware, Counters: h, Dir: o.searchDir, Log: o.log, Metrics: metrics})
		if err != nil {
			return nil, err
		}
		handlers = append(handlers, search)
	}
	if o.probed != nil && o.probed.cfg.Offer.Enabled {
		handlers = append(handlers, hostondemand.New(o.probed.cfg.Offer, o.probed))
	}
	return handlers, nil
}

// kindsOf names the kinds of handlers.
func kindsOf(handlers []command.Handler) (kinds []string) {
	for _, h := range handlers {
		kinds = append(kinds, h.Kind())
	}
	return kinds
}

// slurmHost asks Slurm whether this host is out of use.
type slurmHost struct {
	scheduler *slurm.Scheduler
	node      string
}

// Drained says so with Slurm's word for the state.
func (s *slurmHost) Drained(ctx context.Context) (bool, string, error) {
	out, err := s.scheduler.OutOfUse(ctx, []string{s.node})
	state, drained := out[s.node]
	if !drained {
		state = "Slurm does not have it as idle and drained"
	}
	return drained, state, err
}

// busRecords keep the audit, and what of it is a search, a run that probes a host, or
// hardware of a host in tables of its own.
type busRecords struct{ db *store.DB }

// StoreCommands keeps commands, and the searches and runs that they request.
func (r busRecords) StoreCommands(ctx context.Context, fabric string, commands []schema.SeenCommand) error {
	if err := r.db.StoreSearchSteps(ctx, fabric, ledger.Requests(commands)); err != nil {
		return err
	}
	if err := r.db.StoreHostRuns(ctx, fabric, order.Requests(commands)); err != nil {
		return err
	}
	return r.db.StoreCommands(ctx, fabric, commands)
}

// StoreCommandResults keeps results, the steps of searches and runs, and the hardware of hosts.
// The audit comes last: what is in it is in the other tables.
func (r busRecords) StoreCommandResults(ctx context.Context, fabric string, results []schema.CommandResult) error {
	if err := r.db.StoreSearchSteps(ctx, fabric, ledger.Steps(results)); err != nil {
		return err
	}
	if err := r.db.StoreHostRuns(ctx, fabric, order.Steps(results)); err != nil {
		return err
	}
	if err := r.db.StoreHardware(ctx, fabric, ledger.Hardware(results)); err != nil {
		return err
	}
	return r.db.StoreCommandResults(ctx, fabric, results)
}

// Launcher launches searches in a fabric, or in the only one. It needs UseStore.
func (p *Process) Launcher(fabric string) (*launch.Launcher, error) {
	client, f, err := p.commandClient(fabric)
	if err != nil {
		return nil, err
	}
	return p.launcher(client, f.Name)
}

func (p *Process) launcher(client *command.Client, fabric string) (*launch.Launcher, error) {
	desk, err := p.desk(client, fabric, p.cfg.Search.Launch.Slurm)
	if err != nil {
		return nil, err
	}
	return &launch.Launcher{Desk: desk, Config: p.cfg.Search.Launch, Findings: read.New(p.db)}, nil
}

// desk sends commands by diagnoses in a fabric.
func (p *Process) desk(client *command.Client, fabric string, askSlurm bool) (*dispatch.Desk, error) {
	d := &dispatch.Desk{Fabric: fabric, Bus: client, Store: read.New(p.db), Now: time.Now, ListWait: dispatch.DefaultListWait, StartWait: dispatch.DefaultStartWait}
	if askSlurm {
		nodes, err := slurm.New(p.cfg.Feedback.Slurm)
		if err != nil {
			return nil, err
		}
		d.Nodes = nodes
	}
	return d, nil
}

// makeSearchPolicy makes what launches searches by itself, where that is switched on.
func (parts *Parts) makeSearchPolicy() error {
	p := parts.process
	cfg := p.cfg.Search.Launch.Policy
	if !cfg.Enabled {
		return nil
	}
	launchers := map[string]*launch.Launcher{}
	for _, f := range parts.fabrics {
		client, err := p.clientOf(f.Fabric)
		if err != nil {
			return fmt.Errorf("search.launch.policy: %w", err)
		}
		if launchers[f.Name], err = p.launcher(client, f.Name); err != nil {
			return err
		}
	}
	rec := parts.feedback.Recorder(launch.SinkName, launch.Reasons())
	parts.addPolicy(launch.NewPolicy(cfg, launchers, rec, time.Now), rec.State)
	return nil
}
