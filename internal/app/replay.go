package app

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"github.com/giverny/giverny/collectors/bluewaters"
	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/pipeline"
	"github.com/giverny/giverny/schema"
)

// Replay configures a replay of day files.
type Replay struct {
	Fabric  Fabric
	Files   []string
	Speed   float64 // recorded seconds per second; 0: as fast as possible
	Serve   bool    // also serve the page, until ctx is cancelled
	Replace bool    // replace stored intervals by newer revisions
	Sink    pipeline.Sink
	// Done is called when the files have been read, before the page is closed.
	Done func(bluewaters.Summary)
}

// Replay analyses day files in this process and stores the results, with the pipeline
// for live data.
func (p *Process) Replay(ctx context.Context, r Replay) error {
	reader, err := openDayFiles(r.Fabric, r.Files)
	if err != nil {
		return err
	}
	parts := &Parts{process: p, fabrics: []Fabric{r.Fabric}}
	if err := p.useStore(); err != nil {
		return err
	}
	sinks := []pipeline.Sink{r.Sink}
	if r.Serve {
		if err := parts.makePages(); err != nil {
			return err
		}
		sinks = append(sinks, parts.pages)
	}
	source := &daySource{}
	if source.replay, err = bluewaters.NewReplay(reader, r.Speed, source, p.log, p.registerer); err != nil {
		return err
	}
	db := pipeline.WithoutHistory(pipeline.NewStore(p.db))
	if r.Replace {
		db = pipeline.Replacing(db)
	}
	metrics, err := pipeline.NewMetrics(p.registerer)
	if err != nil {
		return err
	}
	line, err := pipeline.New(r.Fabric.Graph, r.Fabric.Analysis, pipeline.Deps{Log: p.log, Metrics: metrics,
		Store: db, Sinks: sinks, Sources: func() []pipeline.Source { return []pipeline.Source{source} }})
	if err != nil {
		return err
	}
	l, err := p.Listen()
	if err != nil {
		return err
	}
	parts.replay = &lifecycle.Stage{Name: "replay", Run: func(ctx context.Context) error {
		err := line.RunOnce(ctx)
		r.Done(reader.Summary())
		if err == nil && r.Serve {
			<-ctx.Done()
		}
		return err
	}}
	return p.Run(ctx, l, parts.Steps)
}

// ReplayIntoKafka sends the readings of day files to the fabric's partition, for
// running analysers.
func (p *Process) ReplayIntoKafka(ctx context.Context, r Replay) error {
	reader, err := openDayFiles(r.Fabric, r.Files)
	if err != nil {
		return err
	}
	err = p.Produce(ctx, func(ctx context.Context, sink *emitter.Emitter) error {
		replay, err := bluewaters.NewReplay(reader, r.Speed, sink, p.log, p.registerer)
		if err != nil {
			return err
		}
		return replay.Run(ctx)
	})
	r.Done(reader.Summary())
	return err
}

func openDayFiles(f Fabric, files []string) (*bluewaters.Reader, error) {
	grid := f.Graph.Grid()
	if grid == nil || len(grid.Dims) != 3 {
		return nil, fmt.Errorf("fabric %q is not a 3D torus, which the day files describe", f.Name)
	}
	cfg := bluewaters.DefaultConfig(f.Name)
	copy(cfg.Dims[:], grid.Dims)
	inputs := make([]bluewaters.Input, len(files))
	for i, path := range files { // a missing one is an error before the others are analysed
		if info, err := os.Stat(path); err != nil {
			return nil, err
		} else if info.IsDir() {
			return nil, &os.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
		}
		inputs[i] = bluewaters.File(path)
	}
	return bluewaters.NewReader(cfg, inputs...)
}

// daySource makes day files the source of a pipeline.
type daySource struct {
	replay *bluewaters.Replay
	intake *pipeline.Intake // of the run
}

func (s *daySource) Name() string { return "day files" }

// Run reads the files to their end and then closes the open intervals.
func (s *daySource) Run(ctx context.Context, in *pipeline.Intake) error {
	s.intake = in
	if err := s.replay.Run(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	return in.Finish()
}

// Emit passes a batch to the analysis.
func (s *daySource) Emit(_ context.Context, b *schema.CounterBatch) error {
	return s.intake.Counters(s, b, pipeline.NoOffset)
}
