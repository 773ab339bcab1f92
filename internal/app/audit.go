package app

import (
	"context"
	"fmt"

	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/pipeline"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search/ledger"
	"github.com/giverny/giverny/store"
)

// makeAudit makes the stages that write the commands and results of all fabrics to the store.
func (parts *Parts) makeAudit() error {
	p := parts.process
	cfg := &p.cfg.Command
	keys, err := command.NewKeyring(cfg.Principals)
	if err != nil {
		return fmt.Errorf("command.principals: %w", err)
	}
	verifier, err := command.NewVerifier(cfg.Results)
	if err != nil {
		return fmt.Errorf("command.results.agents: %w", err)
	}
	if cfg.Enabled() && !verifier.Knows() {
		p.log.Warn("command: results of agents are accepted without verifying their signatures, because command.results.agents is empty")
	}
	metrics, err := command.NewAuditMetrics(p.registerer)
	if err != nil {
		return err
	}
	letters := kafka.NewProducer(p.client)
	for _, f := range p.cfg.Fabrics {
		owner, fence := parts.ownership(f.Partition)
		consumer := func(kind envelope.Kind) *kafka.Consumer {
			return kafka.NewConsumer(p.client, letters, kafka.Assignment{Kind: kind, Fabric: f.Name, Partition: f.Partition, Fence: fence})
		}
		var records command.Records = busRecords{p.db}
		if owner != nil {
			records = &guardedRecords{records, owner}
		}
		auditor := command.NewAuditor(f.Name, command.AuditDeps{Commands: consumer(envelope.Commands), Results: consumer(envelope.Results), Records: records,
			Keys: keys, Verifier: verifier, Log: p.log, Metrics: metrics})
		stage := lifecycle.Stage{Name: "audit of " + f.Name, Run: auditor.Run}
		if owner != nil {
			stage.Run = func(ctx context.Context) error { return pipeline.WhileOwner(ctx, owner, auditor.Run) }
		}
		parts.audit = append(parts.audit, lifecycle.Supervised(stage, p.log))
	}
	return nil
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
