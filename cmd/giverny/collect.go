package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/collectors/registry"
	"github.com/giverny/giverny/internal/agent"
	"github.com/giverny/giverny/internal/app"
)

type collectFlags struct {
	once, json bool
	sources    []string
}

func newCollect(g *globals) *cobra.Command {
	var f collectFlags
	cmd := &cobra.Command{
		Use:   "collect",
		Short: "Read this host's counters, and feeds of jobs and failures, into Kafka",
		Long: `Read the counters of this host, or of a whole InfiniBand subnet, into Kafka.

The sources are those enabled under collect in the configuration, or those named
with --source:

` + sourceList() + `
While Kafka is unreachable, readings wait in a spool on disk.

Feeds of jobs, failures and the traffic of jobs are read where the configuration
enables them, under collect.jobs, collect.failures and collect.traffic. Folders in
which jobs leave records of their collectives are watched where collect.collectives
names them.

With --once every source and feed is read once and what was read is printed;
nothing is sent.`,
		Example: "  giverny collect --once --json --source ibsysfs",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, log, err := g.load(cmd)
			if err != nil {
				return err
			}
			for _, s := range f.sources {
				if err := cfg.Collect.Sources.Enable(s); err != nil {
					return fmt.Errorf("--%w", err)
				}
			}
			if f.once {
				return agent.Once(cmd.Context(), &cfg, agent.Output{Rows: cmd.OutOrStdout(), Notes: cmd.ErrOrStderr(), JSON: f.json}, log)
			}
			return app.New(cfg, version, log).RunRole(cmd.Context(), app.Role{Collect: true}, nil)
		},
	}
	cmd.Flags().BoolVar(&f.once, "once", false, "read once, print, and end")
	cmd.Flags().BoolVar(&f.json, "json", false, "with --once: one JSON object per row")
	cmd.Flags().StringSliceVar(&f.sources, "source", nil, "sources to read, in addition to those enabled in the configuration: "+registry.Names())
	return cmd
}

// sourceList describes the sources, one per line.
func sourceList() string {
	var b strings.Builder
	for _, k := range registry.Kinds() {
		fmt.Fprintf(&b, "  %-10s %s\n", k.Name, k.Description)
	}
	return b.String()
}
