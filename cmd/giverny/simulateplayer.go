package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/simulate/playback"
	"github.com/giverny/giverny/simulate/scenario"
)

// simulatePlayer plays a story to files, to Kafka, or both.
type simulatePlayer struct {
	runner   *scenario.Runner
	speed    float64
	live     bool             // simulated time starts at the current time
	files    *storyFiles      // may be nil
	sink     *emitter.Emitter // may be nil
	devices  bool             // send only what devices report to the sink
	progress io.Writer
}

func (p *simulatePlayer) play(ctx context.Context) (err error) {
	if p.files != nil {
		defer func() { err = errors.Join(err, p.files.close(p.runner.End())) }()
	}
	began, shown, intervals := time.Now(), time.Now(), 0
	fabric := p.runner.Graph().Fabric()
	var first int64
	for step, ok := p.runner.Step(); ok && ctx.Err() == nil; step, ok = p.runner.Step() {
		if first == 0 {
			first = step.Interval.StartNanos
		}
		if p.speed > 0 {
			origin := began
			if p.live { // readings must not be late: intervals begin before the story, and setting up took time
				origin = time.Unix(0, first)
			}
			passed := time.Duration(float64(step.Interval.EndNanos()-first) / p.speed)
			if !retry.Sleep(ctx, time.Until(origin.Add(passed))) {
				break
			}
		}
		if err := p.hand(ctx, fabric, &step); err != nil {
			return err
		}
		if intervals++; time.Since(shown) > time.Second {
			shown = time.Now()
			fmt.Fprintf(p.progress, "simulate: %v simulated\n", time.Duration(step.Interval.EndNanos()-first))
		}
	}
	fmt.Fprintf(p.progress, "simulate: %d intervals in %.1f s\n", intervals, time.Since(began).Seconds())
	return nil
}

func (p *simulatePlayer) hand(ctx context.Context, fabric string, step *scenario.Step) error {
	if p.files != nil {
		if err := p.files.write(p.runner, step); err != nil {
			return err
		}
	}
	if p.sink == nil {
		return nil
	}
	if p.devices {
		step.Events, step.Jobs, step.Failures, step.Traffic = nil, nil, nil, nil
	}
	return playback.Send(ctx, p.sink, fabric, step)
}
