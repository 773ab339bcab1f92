package main

import (
	"context"
	"time"

	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/simulate/scenario"
)

// demoPlayer plays a script in real time, once or repeatedly, and sends what its
// devices report.
type demoPlayer struct {
	fabric  app.Fabric
	script  *scenario.Script
	sink    *emitter.Emitter
	printer *demoPrinter
	seed    uint64
	again   bool
	room    func() error // fails if the disk is full
}

func (p *demoPlayer) run(ctx context.Context) error {
	for seed := p.seed; ; seed++ {
		if err := p.play(ctx, seed); err != nil || ctx.Err() != nil || !p.again {
			return err
		}
		p.printer.repeats()
	}
}

// settle is how many intervals the analysis gets after the end of the story.
const settle = 2

func (p *demoPlayer) play(ctx context.Context, seed uint64) error {
	interval := p.script.Interval
	start := time.Now().Truncate(interval).Add(interval)
	runner, err := scenario.New(p.fabric.Graph, p.script, seed, start.UnixNano())
	if err != nil {
		return err
	}
	p.printer.begin(start)
	for {
		step, ok := runner.Step()
		if !ok {
			sleepUntil(ctx, time.Now().Add(settle*interval))
			return nil
		}
		if !sleepUntil(ctx, time.Unix(0, step.Interval.EndNanos())) {
			return nil
		}
		p.printer.happened(step.Events)
		if err := p.room(); err != nil {
			return err
		}
		if err := sendStep(ctx, p.sink, p.fabric.Name, &step); err != nil {
			return err
		}
	}
}
