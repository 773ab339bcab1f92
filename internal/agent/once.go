package agent

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
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/collectors/registry"
	"github.com/giverny/giverny/ingest/recorded"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
)

// Output is where the rows and the notes go.
type Output struct {
	Rows, Notes io.Writer
	JSON        bool // rows of sources; those of feeds always are
}

// Once reads every enabled source and feed once and prints what was read, for setting an agent up. Nothing is sent or
// stored.
func Once(ctx context.Context, cfg *config.Config, out Output, log *slog.Logger) error {
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
	agent, err := collectors.NewAgent(name, &printer{out: out.Rows, json: out.JSON}, log, prometheus.NewRegistry())
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
			fmt.Fprintf(out.Notes, "%s: device %q not read: %s\n", source.Collector.Name(), device, health.Failing[device])
		}
		if health.Err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", source.Collector.Name(), health.Err))
		} else if health.Rows == 0 {
			fmt.Fprintf(out.Notes, "%s: %s, no counters\n", source.Collector.Name(), plural.Count(health.Devices, "device", "devices"))
		}
	}
	return errors.Join(append(errs, readFeeds(ctx, cfg, name, out, log))...)
}

// onlyFabric is the name of the configured fabric, if there is one.
func onlyFabric(cfg *config.Config) string {
	if len(cfg.Fabrics) == 1 {
		return cfg.Fabrics[0].Name
	}
	return ""
}

// readFeeds reads every enabled feed and prints its rows as JSON, with the feed's
// own node names, and notes what it dropped. The agent's saved feed
// positions are not touched.
func readFeeds(ctx context.Context, cfg *config.Config, host string, out Output, log *slog.Logger) error {
	dir, err := os.MkdirTemp("", "giverny-feeds-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	enc := json.NewEncoder(out.Rows)
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
				printDropped(out.Notes, feed, &rows)
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
