package demo

import (
	"context"
	"io"
	"time"

	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/simulate/playback"
	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology"
)

// Player plays a script in real time, once or repeatedly, and sends what its
// devices report.
type Player struct {
	Graph   *topology.Graph
	Script  *scenario.Script
	Sink    *emitter.Emitter // set before Run
	Printer *Printer
	Dir     string // of the data
	Seed    uint64
	Repeat  bool // until ctx is cancelled
}

// Run plays the script. A disk that is nearly full is an error.
func (p *Player) Run(ctx context.Context) error {
	for seed := p.Seed; ; seed++ {
		if err := p.play(ctx, seed); err != nil || ctx.Err() != nil || !p.Repeat {
			return err
		}
		p.Printer.repeats()
	}
}

// settle is how many intervals the analysis gets after the end of the story.
const settle = 2

func (p *Player) play(ctx context.Context, seed uint64) error {
	interval := p.Script.Interval
	start := time.Now().Truncate(interval).Add(interval)
	runner, err := scenario.New(p.Graph, p.Script, seed, start.UnixNano())
	if err != nil {
		return err
	}
	p.Printer.begin(start)
	player := playback.Player{Runner: runner, Speed: 1, Live: true, Sink: p.Sink, Progress: io.Discard, Before: func(step *scenario.Step) error {
		p.Printer.happened(step.Events)
		return checkRoom(p.Dir, reserveBytes, freeBytes)
	}}
	if err := player.Play(ctx); err != nil {
		return err
	}
	retry.Sleep(ctx, settle*interval)
	return nil
}
