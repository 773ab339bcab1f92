package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/collectors/bluewaters"
	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
)

type replayFlags struct {
	fabric string
	speed  float64
	kafka  bool
	serve  bool
}

func newReplay(g *globals) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay FILE...",
		Short: "Analyse day files of the Blue Waters release",
		Long: `Analyse day files of the Blue Waters release (DOI 10.13012/B2IDB-2921318_V1):
headerless CSV, one file a day, also packed with gzip, in the order of time.

The readings go straight through the window, the segmenter and the tracker into
the store; with --kafka they take the way of live data, for analysers that run.
A row that cannot be understood costs itself alone: it is named on standard error
with its line and column, and counted in the summary at the end.

The fabric is the one of that name in the configuration, or without a
configuration Blue Waters' own torus.`,
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
	flags.BoolVar(&f.serve, "serve", false, "serve the page meanwhile and afterwards, until interrupted")
	return cmd
}

func replay(cmd *cobra.Command, cfg config.Config, log *slog.Logger, f replayFlags, files []string) error {
	entry := config.DefaultFabric()
	entry.Name, entry.Topology, entry.Partition = f.fabric, "torus:24x24x24", 0
	for _, known := range cfg.Fabrics {
		if known.Name == f.fabric {
			entry = known
		}
	}
	cfg.Fabrics = []config.Fabric{entry}
	fabrics, err := loadFabrics(cfg.Fabrics, log)
	if err != nil {
		return err
	}
	reader, err := openDayFiles(fabrics[0], files)
	if err != nil {
		return err
	}
	p := newProcess(cfg, log)
	run := p.replayThroughStore
	if f.kafka {
		run = p.replayThroughKafka
		err = p.useKafka()
	} else {
		err = p.useStore()
	}
	if err != nil {
		return err
	}
	l, err := p.listen()
	if err != nil {
		return err
	}
	steps, err := p.replaySteps(cmd, f, fabrics, reader, run)
	if err != nil {
		return err
	}
	return p.run(cmd.Context(), l, steps)
}

func (p *process) replaySteps(cmd *cobra.Command, f replayFlags, fabrics []fabric, reader *bluewaters.Reader,
	run func(context.Context, fabric, *bluewaters.Reader, float64, io.Writer) error) (func(context.Context) ([][]lifecycle.Stage, error), error) {
	var page []lifecycle.Stage
	if f.serve && p.db != nil {
		pages, err := p.pages(fabrics)
		if err != nil {
			return nil, err
		}
		page = []lifecycle.Stage{{Name: "page", Run: pages.Run}}
	}
	return func(ctx context.Context) ([][]lifecycle.Stage, error) {
		if p.db != nil {
			if err := p.awaitStore(ctx); err != nil {
				return nil, err
			}
		}
		steps := [][]lifecycle.Stage{{{Name: "replay", Run: func(ctx context.Context) error {
			began := time.Now()
			err := run(ctx, fabrics[0], reader, f.speed, cmd.ErrOrStderr())
			printReplaySummary(cmd.OutOrStdout(), reader.Summary(), time.Since(began))
			if err == nil && f.serve {
				<-ctx.Done()
			}
			return err
		}}}}
		if page != nil {
			steps = append(steps, page)
		}
		return steps, nil
	}, nil
}

func openDayFiles(f fabric, files []string) (*bluewaters.Reader, error) {
	grid := f.graph.Grid()
	if grid == nil || len(grid.Dims) != 3 {
		return nil, fmt.Errorf("fabric %q is no 3D torus, which the day files describe", f.Name)
	}
	cfg := bluewaters.DefaultConfig(f.Name)
	copy(cfg.Dims[:], grid.Dims)
	inputs := make([]bluewaters.Input, len(files))
	for i, path := range files {
		inputs[i] = bluewaters.File(path)
	}
	return bluewaters.NewReader(cfg, inputs...)
}

// replayThroughKafka sends the readings to the fabric's partition.
func (p *process) replayThroughKafka(ctx context.Context, f fabric, reader *bluewaters.Reader, speed float64, _ io.Writer) error {
	if err := p.client.EnsureTopics(ctx, config.NumPartitions(p.cfg.Fabrics)); err != nil {
		return err
	}
	sink := emitter.New(kafka.NewProducer(p.client), config.PartitionOf(p.cfg.Fabrics))
	r, err := bluewaters.NewReplay(reader, speed, sink, p.log, p.registerer)
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

// replayThroughStore analyses the readings here and stores the results.
func (p *process) replayThroughStore(ctx context.Context, f fabric, reader *bluewaters.Reader, speed float64, progress io.Writer) error {
	core, err := analysis.New(f.graph, f.Analysis)
	if err != nil {
		return err
	}
	if err := p.db.StoreGraph(ctx, store.GraphOf(f.graph, time.Now().UnixNano())); err != nil {
		return err
	}
	sink := &coreSink{core: core, db: p.db, progress: progress}
	r, err := bluewaters.NewReplay(reader, speed, sink, p.log, p.registerer)
	if err != nil {
		return err
	}
	if err := r.Run(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	end := sink.newestNanos + 2*f.Interval().Nanoseconds()
	core.Advance(end, end)
	return sink.storeFinished(ctx)
}

// coreSink is an emitter that analyses what it is given.
type coreSink struct {
	core        *analysis.Core
	db          *store.DB
	progress    io.Writer
	newestNanos int64
	intervals   int
	shown       time.Time
}

// Emit analyses a batch and stores the intervals that it closes.
func (s *coreSink) Emit(ctx context.Context, b *schema.CounterBatch) error {
	if err := s.core.Add(b); err != nil {
		return err
	}
	for _, t := range b.TimeNanos {
		s.newestNanos = max(s.newestNanos, t)
	}
	return s.storeFinished(ctx)
}

func (s *coreSink) storeFinished(ctx context.Context) error {
	for r := s.core.Next(); r != nil; r = s.core.Next() {
		if err := storeResult(ctx, s.db, r); err != nil {
			return err
		}
		s.intervals++
		s.core.Recycle(r)
		if time.Since(s.shown) > time.Second {
			s.shown = time.Now()
			fmt.Fprintf(s.progress, "replay: %s UTC, %d intervals stored, %d regions now\n",
				time.Unix(0, r.Snapshot.Interval.StartNanos).UTC().Format(time.DateTime), s.intervals, len(r.Regions))
		}
	}
	return nil
}

func printReplaySummary(w io.Writer, s bluewaters.Summary, took time.Duration) {
	var out bytes.Buffer
	megabytes := float64(s.Bytes) / 1e6
	fmt.Fprintf(&out, "replayed %d files, %.1f MB, %d rows, %d of them dropped", s.Files, megabytes, s.Rows, s.Bad())
	for reason, n := range s.Dropped {
		if n > 0 {
			fmt.Fprintf(&out, ", %d %s", n, bluewaters.Reason(reason))
		}
	}
	fmt.Fprintf(&out, "; %d minutes of data in %.1f s (%.1f MB/s)\n", s.Batches, took.Seconds(), megabytes/took.Seconds())
	_, _ = w.Write(out.Bytes())
}
