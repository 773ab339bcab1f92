package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/collectors/registry"
	"github.com/giverny/giverny/ingest/recorded"
	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
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
				return collectOnce(cmd.Context(), cmd, cfg, log, f.json)
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

// collectOnce reads every enabled source once and prints the rows, and on standard
// error the devices that failed.
func collectOnce(ctx context.Context, cmd *cobra.Command, cfg config.Config, log *slog.Logger, asJSON bool) error {
	name, err := cfg.Collect.AgentName()
	if err != nil {
		return err
	}
	polling := cfg.Collect.Polling
	polling.Fabric, polling.Interval = cmp.Or(polling.Fabric, onlyFabric(cfg), "none"), time.Minute
	sources, err := cfg.Collect.Sources.Open(name, polling)
	if err != nil {
		return err
	}
	if !cfg.Collect.Enabled() {
		return registry.ErrNone()
	}
	agent, err := collectors.NewAgent(name, &printer{out: cmd.OutOrStdout(), json: asJSON}, log, prometheus.NewRegistry())
	if err != nil {
		return err
	}
	var errs []error
	for _, source := range sources {
		poller, err := collectors.New(source.Config, source.Collector, agent)
		if err != nil {
			return err
		}
		health := poller.Once(ctx)
		for _, device := range slices.Sorted(maps.Keys(health.Failing)) {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: device %q not read: %s\n", source.Collector.Name(), device, health.Failing[device])
		}
		if health.Err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", source.Collector.Name(), health.Err))
		} else if health.Rows == 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s, no counters\n", source.Collector.Name(), plural.Count(health.Devices, "device", "devices"))
		}
	}
	return errors.Join(append(errs, feedsOnce(ctx, cmd, &cfg, name, log))...)
}

// onlyFabric is the name of the configured fabric, if there is one.
func onlyFabric(cfg config.Config) string {
	if len(cfg.Fabrics) == 1 {
		return cfg.Fabrics[0].Name
	}
	return ""
}

// feedsOnce reads every enabled feed once and prints its rows as JSON, with the feed's
// own node names, and on standard error what it dropped. The agent's saved feed
// positions are not touched.
func feedsOnce(ctx context.Context, cmd *cobra.Command, cfg *config.Config, host string, log *slog.Logger) error {
	dir, err := os.MkdirTemp("", "giverny-feeds-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	enc := json.NewEncoder(cmd.OutOrStdout())
	var errs []error
	for _, group := range cfg.Collect.FeedGroups() {
		for _, name := range group.Feeds.Enabled() {
			feed, running := group.Name+"."+name, group.Feeds.Sections[name].Running
			source, err := group.Feeds.Open(name, feeds.Env{Host: host, Interval: time.Minute, Store: feeds.NewStore(dir, feed), Log: log, ClockTolerance: running.ClockTolerance})
			if err != nil {
				errs = append(errs, fmt.Errorf("collect.%s.%w", group.Name, err))
				continue
			}
			for more := true; more && ctx.Err() == nil; {
				reading, cancel := context.WithTimeout(ctx, running.Timeout)
				rows, err := source.Read(reading, time.Now())
				cancel()
				errs = append(errs, printRows(enc, &rows))
				printDropped(cmd.ErrOrStderr(), feed, &rows)
				if err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", feed, err))
				}
				more = rows.More && err == nil
			}
		}
	}
	return errors.Join(errs...)
}

// printDropped prints the number of rows a feed dropped by reason, and the first of them.
func printDropped(w io.Writer, feed string, rows *feeds.Rows) {
	for _, reason := range slices.Sorted(maps.Keys(rows.Dropped)) {
		fmt.Fprintf(w, "%s: %s dropped: %s\n", feed, plural.Count(int(rows.Dropped[reason]), "row", "rows"), reason)
	}
	for _, f := range rows.Faults {
		fmt.Fprintf(w, "%s: %s: %s: %s\n", feed, f.Where, f.Reason, f.Detail)
	}
}

// printRows prints the rows of a feed, one per line.
func printRows(enc *json.Encoder, rows *feeds.Rows) error {
	var errs []error
	for i := range rows.Jobs {
		errs = append(errs, enc.Encode(&rows.Jobs[i]))
	}
	for i := range rows.Failures {
		errs = append(errs, enc.Encode(&rows.Failures[i]))
	}
	for i := range rows.Traffic {
		errs = append(errs, enc.Encode(&rows.Traffic[i]))
	}
	return errors.Join(errs...)
}

// printer is an emitter for people.
type printer struct {
	out  io.Writer
	json bool
}

// Emit prints each row of a batch.
func (p *printer) Emit(_ context.Context, b *schema.CounterBatch) error {
	enc := json.NewEncoder(p.out)
	for i, nanos := range b.TimeNanos {
		port := b.Ports[b.PortIndex[i]]
		row := recorded.Row{Source: b.Source, Time: time.Unix(0, nanos).UTC(), Device: port.Device, Port: port.Port, Counters: map[string]uint64{}}
		for _, c := range b.Columns {
			if c.Valid == nil || c.Valid.Has(i) {
				row.Counters[c.Name] = c.Values[i]
			}
		}
		if p.json {
			if err := enc.Encode(row); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(p.out, "%s  %s port %s\n", row.Source, row.Device, row.Port)
		for _, name := range slices.Sorted(maps.Keys(row.Counters)) {
			fmt.Fprintf(p.out, "  %-44s %d\n", name, row.Counters[name])
		}
	}
	return nil
}
