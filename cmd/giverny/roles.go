package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/app"
)

// newEngine is the hidden subcommand run as the embedded engine's child process.
func newEngine() *cobra.Command {
	return &cobra.Command{Use: app.EngineCommand, Hidden: true, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error { return app.ServeEngine(cmd.Context(), args) }}
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
			return g.runRole(cmd, app.Role{Analyse: true, Serve: true, Collect: true})
		},
	}
}

func newAnalyze(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "analyze",
		Short: "Find the congestion regions in the data from Kafka and store them",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return g.runRole(cmd, app.Role{Analyse: true}) },
	}
}

func newServe(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve the page and the API from the store",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return g.runRole(cmd, app.Role{Serve: true}) },
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
			applied, err := app.New(cfg, version, log).Migrate(cmd.Context())
			if err != nil {
				return err
			}
			for _, m := range applied {
				fmt.Fprintf(cmd.OutOrStdout(), "%04d %s\n", m.Version, m.Name)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "the store is up to date: %d migrations\n", len(applied))
			return nil
		},
	}
}

func (g *globals) runRole(cmd *cobra.Command, r app.Role) error {
	cfg, log, err := g.load(cmd)
	if err != nil {
		return err
	}
	fabrics, err := app.StartFabrics(&cfg, log)
	if err != nil {
		return err
	}
	r.Collect = r.Collect && cfg.Collect.Enabled()
	return app.New(cfg, version, log).RunRole(cmd.Context(), r, fabrics)
}
