package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/topology"
)

func newConfig(g *globals) *cobra.Command {
	cmd := newFolder("config", "Look at the configuration")
	cmd.AddCommand(&cobra.Command{
		Use:   "check",
		Short: "Read the configuration and the fabrics it names, and say what is wrong",
		Long: `Read the configuration and the fabrics it names, make every part that a role
would run, and say what is wrong. Nothing is started: no address is dialled or
listened on, and no file is made.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, log, err := g.load(cmd)
			if err != nil {
				return err
			}
			fabrics, err := loadFabrics(cfg.Fabrics, quiet(log))
			if err != nil {
				return err
			}
			for _, f := range fabrics {
				if err := printSummary(cmd.OutOrStdout(), f.graph, false); err != nil {
					return err
				}
			}
			if err := errors.Join(checkNames(cfg.Fabrics), checkParts(cfg, fabrics, log)); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "configuration ok: %s, %d fabrics\n", g.configFile, len(cfg.Fabrics))
			return nil
		},
	})
	return cmd
}

// checkNames compares the fabrics' names with those that their files give them: an
// import under another name is probably of another fabric.
func checkNames(fabrics []config.Fabric) error {
	var f faults.List
	for i, fabric := range fabrics {
		graph, err := config.LoadTopology(config.Fabric{Topology: fabric.Topology}, slog.New(slog.DiscardHandler))
		if err != nil || config.IsTopologySpec(fabric.Topology) {
			continue // said before, or without a name
		}
		if name := graph.Fabric(); name != topology.DefaultFabric && name != fabric.Name {
			f.Add(fmt.Sprintf("fabrics.%d (%s).name", i, fabric.Name), "%s calls this fabric %q; give it one name, here or by giverny topology import --fabric", fabric.Topology, name)
		}
	}
	return f.Err()
}

// checkParts makes every part of every role, inert.
func checkParts(cfg config.Config, fabrics []fabric, log *slog.Logger) error {
	p := newProcess(cfg, log)
	storeErr := p.useStore()
	if cfg.Store.Library == "" && errors.Is(storeErr, engine.ErrNoLibrary) { // which another host may have
		log.Warn("embedded store not checked: its library is not on this host; analyze, serve and up need it", "library", "libchdb.so")
		storeErr = nil
	}
	errs := []error{p.useKafka(), storeErr}
	if p.client != nil {
		_, err := p.analysers(fabrics, nil)
		errs = append(errs, err)
		if cfg.Collect.Sources.Enabled() {
			_, err = p.agent()
			errs = append(errs, err)
		}
	}
	_, err := p.pages(fabrics)
	return errors.Join(append(errs, err)...)
}

// quiet keeps warnings and drops what says that things go well.
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

func dirOf(path string) string { return filepath.Dir(path) }
