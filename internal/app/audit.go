package app

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/pipeline"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search/ledger"
	"github.com/giverny/giverny/store"
)

// auditDeps are the dependencies of the audit.
type auditDeps struct {
	Client     *kafka.Client
	Records    command.Records
	Log        *slog.Logger
	Registerer prometheus.Registerer
	// Owner returns the ownership of a fabric by its partition, and the fence for its
	// offsets; nil if no other process audits it.
	Owner func(partition int) (pipeline.Owner, kafka.Fence)
}

// auditStages write the commands and results of all fabrics to the store.
func auditStages(cfg *config.Config, deps auditDeps) ([]lifecycle.Stage, error) {
	keys, err := command.NewKeyring(cfg.Command.Principals)
	if err != nil {
		return nil, fmt.Errorf("command.principals: %w", err)
	}
	verifier, err := command.NewVerifier(cfg.Command.Results)
	if err != nil {
		return nil, fmt.Errorf("command.results.agents: %w", err)
	}
	if cfg.Command.Enabled() && !verifier.Knows() {
		deps.Log.Warn("command: results of agents are accepted without verifying their signatures, because command.results.agents is empty")
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
		stages = append(stages, lifecycle.Supervised(stage, deps.Log))
	}
	return stages, nil
}

// guardedRecords are written only by the fabric's owner: the store's deduplication
// requires a single writer at a time.
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

// busRecords stores the audit, and searches, probe runs, diagnosed collectives and host
// hardware also in their own tables.
type busRecords struct{ db *store.DB }

// StoreCommands stores commands, and the searches and runs that they request.
func (r busRecords) StoreCommands(ctx context.Context, fabric string, commands []schema.SeenCommand) error {
	if err := r.db.StoreSearchSteps(ctx, fabric, ledger.Requests(commands)); err != nil {
		return err
	}
	if err := r.db.StoreHostRuns(ctx, fabric, order.Requests(commands)); err != nil {
		return err
	}
	return r.db.StoreCommands(ctx, fabric, commands)
}

// StoreCommandResults stores results, the steps of searches and runs, diagnosed collectives, and the hardware of
// hosts. The audit comes last, so that a row in it implies the rows in the other tables.
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
