package playback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/simulate/scenario"
)

// Player plays a story to files, to Kafka, or both.
type Player struct {
	Runner      *scenario.Runner
	Speed       float64          // simulated seconds per second; 0: as fast as possible
	Live        bool             // simulated time starts at the current time
	Files       *Files           // may be nil
	Sink        *emitter.Emitter // may be nil
	DevicesOnly bool             // send only what devices report to the sink
	Progress    io.Writer
	Before      func(*scenario.Step) error // is called when a step is due; may be nil
}

// Play plays the story to its end, or until ctx is cancelled.
func (p *Player) Play(ctx context.Context) (err error) {
	if p.Files != nil {
		defer func() { err = errors.Join(err, p.Files.close(p.Runner.End())) }()
	}
	began, shown, intervals := time.Now(), time.Now(), 0
	fabric := p.Runner.Graph().Fabric()
	var first int64
	for step, ok := p.Runner.Step(); ok && ctx.Err() == nil; step, ok = p.Runner.Step() {
		first = cmp.Or(first, step.Interval.StartNanos)
		if p.Speed > 0 {
			origin := began
			if p.Live { // readings must not be late: intervals begin before the story, and setting up took time
				origin = time.Unix(0, first)
			}
			passed := time.Duration(float64(step.Interval.EndNanos()-first) / p.Speed)
			if !retry.Sleep(ctx, time.Until(origin.Add(passed))) {
				break
			}
		}
		if err := p.hand(ctx, fabric, &step); err != nil {
			return err
		}
		if intervals++; time.Since(shown) > time.Second {
			shown = time.Now()
			fmt.Fprintf(p.Progress, "simulate: %v simulated\n", time.Duration(step.Interval.EndNanos()-first))
		}
	}
	fmt.Fprintf(p.Progress, "simulate: %d intervals in %.1f s\n", intervals, time.Since(began).Seconds())
	return nil
}

func (p *Player) hand(ctx context.Context, fabric string, step *scenario.Step) error {
	if p.Before != nil {
		if err := p.Before(step); err != nil {
			return err
		}
	}
	if p.Files != nil {
		if err := p.Files.write(p.Runner, step); err != nil {
			return err
		}
	}
	if p.Sink == nil {
		return nil
	}
	if p.DevicesOnly {
		step.Events, step.Jobs, step.Failures, step.Traffic = nil, nil, nil, nil
	}
	return send(ctx, p.Sink, fabric, step)
}
