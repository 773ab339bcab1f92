package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/collectors/bluewaters"
	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
)

type replayFlags struct {
	fabric  string
	speed   float64
	kafka   bool
	serve   bool
	replace bool
}

func newReplay(g *globals) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay FILE...",
		Short: "Analyse day files of the Blue Waters release",
		Long: `Analyse day files of the Blue Waters release (DOI 10.13012/B2IDB-2921318_V1):
headerless CSV, one file a day, also compressed with gzip or Zstandard, in the order
of time.

The readings are analysed and stored directly; with --kafka they are sent through
Kafka like live data, for running analysers. Rows that cannot be read are left out,
reported on standard error with line and column, and counted in the summary.

The fabric is the one with that name in the configuration, or without a
configuration the torus of Blue Waters.`,
		Example: "  giverny replay 20170112 20170113\n  giverny replay --kafka --speed 60 20170112",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, log, err := g.load(cmd)
			if err != nil {
				return err
			}
			return replay(cmd, cfg, log, f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.fabric, "fabric", "bluewaters", "fabric that the files describe")
	flags.Float64Var(&f.speed, "speed", 0, "recorded seconds per second; 0: as fast as possible")
	flags.BoolVar(&f.kafka, "kafka", false, "send the readings through Kafka instead of analysing them here")
	flags.BoolVar(&f.replace, "replace", false, "replace intervals that are stored already")
	flags.BoolVar(&f.serve, "serve", false, "serve the page during the replay and afterwards, until interrupted")
	return cmd
}

func replay(cmd *cobra.Command, cfg config.Config, log *slog.Logger, f replayFlags, files []string) error {
	switch {
	case f.kafka && f.replace:
		return errors.New("--replace has no effect with --kafka: the running analysers decide what is stored; use only one of the two")
	case !(f.speed >= 0):
		return fmt.Errorf("--speed %v: want recorded seconds per second, or 0 for as fast as possible", f.speed)
	}
	entry := config.DefaultFabric()
	entry.Name, entry.Topology, entry.Partition = f.fabric, "torus:24x24x24", 0
	for _, known := range cfg.Fabrics {
		if known.Name == f.fabric {
			entry = known
		}
	}
	cfg.Fabrics = []config.Fabric{entry}
	fabrics, err := app.LoadFabrics(cfg.Fabrics, log)
	if err != nil {
		return err
	}
	began := time.Now()
	r := app.Replay{Fabric: fabrics[0], Files: files, Speed: f.speed, Serve: f.serve, Replace: f.replace, Sink: &replayProgress{out: cmd.ErrOrStderr()},
		Done: func(s bluewaters.Summary) { printReplaySummary(cmd.OutOrStdout(), s, time.Since(began)) }}
	p := app.New(cfg, version, log)
	if f.kafka {
		return p.ReplayIntoKafka(cmd.Context(), r)
	}
	return p.Replay(cmd.Context(), r)
}

// replayProgress prints the progress of the analysis once a second.
type replayProgress struct {
	out       io.Writer
	intervals int
	shown     time.Time
}

// Name of the sink.
func (p *replayProgress) Name() string { return "progress" }

// Put counts an interval.
func (p *replayProgress) Put(_ context.Context, r *schema.IntervalResult) error {
	p.intervals++
	if time.Since(p.shown) > time.Second {
		p.shown = time.Now()
		fmt.Fprintf(p.out, "replay: %s UTC, %s stored, %s now\n", time.Unix(0, r.Snapshot.Interval.StartNanos).UTC().Format(time.DateTime),
			plural.Count(p.intervals, "interval", "intervals"), plural.Count(len(r.Regions), "region", "regions"))
	}
	return nil
}

func printReplaySummary(w io.Writer, s bluewaters.Summary, took time.Duration) {
	var out bytes.Buffer
	megabytes := float64(s.Bytes) / 1e6
	fmt.Fprintf(&out, "replayed %s, %.1f MB, %d rows, %d of them dropped", plural.Count(s.Files, "file", "files"), megabytes, s.Rows, s.Bad())
	for reason, n := range s.Dropped {
		if n > 0 {
			fmt.Fprintf(&out, ", %d %s", n, bluewaters.Reason(reason))
		}
	}
	fmt.Fprintf(&out, "; %d minutes of data in %.1f s (%.1f MB/s)\n", s.Batches, took.Seconds(), megabytes/took.Seconds())
	_, _ = w.Write(out.Bytes())
}
