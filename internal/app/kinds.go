package app

import (
	"context"

	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/feedback/slurm"
	hostondemand "github.com/giverny/giverny/hostping/ondemand"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search/ledger"
	"github.com/giverny/giverny/search/ondemand"
	"github.com/giverny/giverny/search/run"
	"github.com/giverny/giverny/store"
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

// busRecords keep the audit, and what of it is a search, a run that probes a host, a
// diagnosed collective, or hardware of a host in tables of its own.
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

// StoreCommandResults keeps results, the steps of searches and runs, diagnosed collectives, and the hardware of hosts.
// The audit comes last: what is in it is in the other tables.
func (r busRecords) StoreCommandResults(ctx context.Context, fabric string, results []schema.CommandResult) error {
	if err := r.db.StoreSearchSteps(ctx, fabric, ledger.Steps(results)); err != nil {
		return err
	}
	if err := r.db.StoreHostRuns(ctx, fabric, order.Steps(results)); err != nil {
		return err
	}
	if err := r.db.StoreCollectives(ctx, fabric, report.Reports(results)); err != nil {
		return err
	}
	if err := r.db.StoreHardware(ctx, fabric, ledger.Hardware(results)); err != nil {
		return err
	}
	return r.db.StoreCommandResults(ctx, fabric, results)
}
