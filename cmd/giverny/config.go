package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/plural"
)

func newConfig(g *globals) *cobra.Command {
	cmd := newFolder("config", "Inspect the configuration")
	cmd.AddCommand(&cobra.Command{
		Use:   "check",
		Short: "Check the configuration and the fabrics it names",
		Long: `Read the configuration and its fabrics, build every part that a role would run, and
report errors, with missing or unreadable files, programs that are not on the PATH and
folders that cannot be written. Files of other programs that do not exist yet are
warnings. Nothing is started: no connection is made, no address is listened on,
and no file is created.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, log, err := g.load(cmd)
			if err != nil {
				return err
			}
			fabrics, err := app.CheckFabrics(&cfg, quiet(log))
			if err != nil {
				return err
			}
			for _, f := range fabrics {
				if err := printSummary(cmd.OutOrStdout(), f.Graph, false); err != nil {
					return err
				}
			}
			if err := app.New(cfg, version, log).Check(fabrics); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "configuration ok: %s, %s\n", g.configFile, plural.Count(len(cfg.Fabrics), "fabric", "fabrics"))
			return nil
		},
	})
	return cmd
}

// quiet returns a logger that drops records below warn.
func quiet(log *slog.Logger) *slog.Logger { return slog.New(warningsOnly{log.Handler()}) }

type warningsOnly struct{ slog.Handler }

func (warningsOnly) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), "giverny", version) },
	}
}
