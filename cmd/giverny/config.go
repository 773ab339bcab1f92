package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

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
			err = app.New(cfg, version, log).Check(fabrics)
			missing, doubts := cfg.Needs()
			if doubts = cfg.Located(doubts, os.Environ()); doubts != nil {
				for _, doubt := range strings.Split(doubts.Error(), "\n") {
					log.Warn("config: not there yet", "what", doubt)
				}
			}
			if err = errors.Join(err, notIn(err, missing)); err != nil {
				return cfg.Located(err, os.Environ())
			}
			fmt.Fprintf(cmd.OutOrStdout(), "configuration ok: %s, %s\n", g.configFile, plural.Count(len(cfg.Fabrics), "fabric", "fabrics"))
			return nil
		},
	})
	return cmd
}

// notIn returns the errors about keys of which err has none: parts that read a file when they are built report it too.
func notIn(err, more error) error {
	joined, ok := more.(interface{ Unwrap() []error })
	if err == nil || !ok {
		return more
	}
	var fresh []error
	for _, e := range joined.Unwrap() {
		key, _, _ := strings.Cut(e.Error(), ": ")
		if !strings.Contains("\n"+err.Error(), "\n"+key+": ") {
			fresh = append(fresh, e)
		}
	}
	return errors.Join(fresh...)
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
