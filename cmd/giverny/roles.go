package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/dashboards"
	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/read"
)

// engineCommand is the hidden subcommand by which the binary runs the embedded
// engine in a child process of its own.
const engineCommand = "engine"

func newEngine() *cobra.Command {
	return &cobra.Command{Use: engineCommand, Hidden: true, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := engine.ParseServeArgs(args)
			if err != nil {
				return err
			}
			return engine.Serve(cmd.Context(), cfg, slog.New(slog.NewJSONHandler(os.Stderr, nil))) // the supervisor reads JSON
		}}
}

func newUp(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Run everything in one process",
		Long: `Run everything in one process: the enabled collectors, the analysers of all
fabrics, the page and the API, with the embedded Kafka and ClickHouse unless the
configuration names others.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.runRole(cmd, role{analyse: true, serve: true, collect: true})
		},
	}
}

func newAnalyze(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "analyze",
		Short: "Find the congestion regions of what arrives in Kafka and store them",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return g.runRole(cmd, role{analyse: true}) },
	}
}

func newServe(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve the page and the API from the store",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return g.runRole(cmd, role{serve: true}) },
	}
}

func newMigrate(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring the store's tables up to date",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, log, err := g.load(cmd)
			if err != nil {
				return err
			}
			p := newProcess(cfg, log)
			if err := p.useStore(); err != nil {
				return err
			}
			return p.runOnce(cmd.Context(), func(ctx context.Context) error {
				if err := p.awaitStore(ctx); err != nil {
					return err
				}
				if err := p.db.ApplyRetention(ctx); err != nil {
					return err
				}
				applied, err := p.db.MigrationStatus(ctx)
				for _, m := range applied {
					fmt.Fprintf(cmd.OutOrStdout(), "%04d %s\n", m.Version, m.Name)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "the store is up to date: %d migrations\n", len(applied))
				return err
			})
		},
	}
}

// role says which parts a process has.
type role struct {
	collect, analyse, serve bool
	onStored                func(*schema.IntervalResult) // may be nil
}

func (g *globals) runRole(cmd *cobra.Command, r role) error {
	cfg, log, err := g.load(cmd)
	if err != nil {
		return err
	}
	fabrics, err := loadFabrics(cfg.Fabrics, log)
	if err != nil {
		return err
	}
	p := newProcess(cfg, log)
	r.collect = r.collect && cfg.Collect.Sources.Enabled()
	if r.collect || r.analyse {
		if err := p.useKafka(); err != nil {
			return err
		}
	}
	if r.analyse || r.serve {
		if err := p.useStore(); err != nil {
			return err
		}
	}
	l, err := p.listen()
	if err != nil {
		return err
	}
	var pages *dashboards.Dashboards
	if r.serve {
		if pages, err = p.pages(fabrics); err != nil {
			return err
		}
		log.Info("the page is at", "url", "http://"+l.Addr().String())
	}
	return p.run(cmd.Context(), l, func(ctx context.Context) ([][]lifecycle.Stage, error) {
		return p.roleStages(ctx, r, fabrics, pages)
	})
}

func (p *process) pages(fabrics []fabric) (*dashboards.Dashboards, error) {
	pages, err := dashboards.New(p.cfg.Dashboards, shown(fabrics), read.New(p.db), p.registerer, p.log)
	if err != nil {
		return nil, err
	}
	pages.Register(p.mux)
	return pages, nil
}

// audit makes the stages that write commands and their results to the store.
func (p *process) audit() ([]lifecycle.Stage, error) {
	return app.AuditStages(&p.cfg, app.AuditDeps{Client: p.client, Records: p.db, Log: p.log, Registerer: p.registerer})
}

// roleStages lays out a role's stages, in the order of the data.
func (p *process) roleStages(ctx context.Context, r role, fabrics []fabric, pages *dashboards.Dashboards) (steps [][]lifecycle.Stage, err error) {
	if p.db != nil {
		if err := p.awaitStore(ctx); err != nil {
			return nil, err
		}
	}
	if p.client != nil {
		if err := p.client.EnsureTopics(ctx, config.NumPartitions(p.cfg.Fabrics)); err != nil {
			return nil, err
		}
	}
	if r.collect {
		agent, err := p.agent()
		if err != nil {
			return nil, err
		}
		pollers, spool, err := agent.Stages()
		if err != nil {
			return nil, err
		}
		steps = append(steps, pollers, spool)
	}
	if r.analyse {
		onStored := func(result *schema.IntervalResult) {
			if pages != nil {
				_ = pages.Put(ctx, result) // it only announces
			}
			if r.onStored != nil {
				r.onStored(result)
			}
		}
		analysers, err := p.analysers(fabrics, onStored)
		if err != nil {
			return nil, err
		}
		var stages []lifecycle.Stage
		for _, a := range analysers {
			stages = append(stages, lifecycle.Stage{Name: "analyser of " + a.fabric.Name, Run: a.Run})
		}
		audit, err := p.audit()
		if err != nil {
			return nil, err
		}
		steps = append(steps, append(stages, audit...))
	}
	if pages != nil {
		steps = append(steps, []lifecycle.Stage{{Name: "page", Run: pages.Run}})
	}
	return steps, nil
}

func (p *process) analysers(fabrics []fabric, onStored func(*schema.IntervalResult)) ([]*analyser, error) {
	metrics := newAnalyserMetrics(p.registerer)
	list := make([]*analyser, len(fabrics))
	for i, f := range fabrics {
		var err error
		if list[i], err = newAnalyser(p, f, metrics); err != nil {
			return nil, err
		}
		list[i].onStored = onStored
	}
	return list, nil
}
