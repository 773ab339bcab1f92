// Package lifecycle runs the stages of a process together and stops them in
// order, so that what a source has read still reaches its sink. It knows
// nothing of what the stages do.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Stage is one part of a process. Run blocks until ctx is cancelled and what it
// holds has been handed on; it returns nil on cancel.
type Stage struct {
	Name string // what its errors begin with; empty: the task that a process is for
	Run  func(ctx context.Context) error
}

// Group is a list of stages in the order of the data: source, buffer, analysis,
// sink. Stages of the same step are stopped together.
type Group struct {
	log   *slog.Logger
	grace time.Duration
	steps [][]Stage
}

// New makes a group that gives every step at most grace to drain.
func New(log *slog.Logger, grace time.Duration) *Group { return &Group{log: log, grace: grace} }

// Add appends a step whose stages run and stop side by side.
func (g *Group) Add(stages ...Stage) { g.steps = append(g.steps, stages) }

type outcome struct {
	stage int // of the step
	err   error
}

type runningStep struct {
	cancel context.CancelFunc
	done   chan outcome   // one per stage
	left   map[int]string // names of the stages that have not ended, by their place in the step
}

// Run starts every stage and waits. When ctx is cancelled, or a stage ends by
// itself, it stops the steps first to last, waiting for each to drain before
// the next is stopped. It returns the stages' errors, nil if there were
// none; one that only passes on another stage's error is left out.
func (g *Group) Run(ctx context.Context) error {
	if g.count() == 0 {
		return nil
	}
	ended := make(chan struct{}, g.count())
	steps := make([]runningStep, len(g.steps))
	for i := len(g.steps) - 1; i >= 0; i-- { // sinks first, so that nothing is produced into the void
		steps[i] = g.start(g.steps[i], ended)
	}
	select {
	case <-ctx.Done():
	case <-ended:
	}
	var failed []failure
	for i := range steps {
		failed = append(failed, g.stop(&steps[i])...)
	}
	return causes(failed)
}

// failure is the error that a stage ended with.
type failure struct {
	stage string
	err   error
}

// causes joins what stages ended with, but for errors that wrap another's: where the engine does not start, the
// stage that waits for it ends with the engine's error. A bare sentinel, such as io.EOF, is no such error: two
// stages can meet it apart.
func causes(failed []failure) error {
	var errs []error
	for _, f := range failed {
		passedOn := slices.ContainsFunc(failed, func(o failure) bool {
			return errors.Unwrap(o.err) != nil && errors.Is(f.err, o.err) && !errors.Is(o.err, f.err)
		})
		switch {
		case passedOn:
		case f.stage == "":
			errs = append(errs, f.err)
		default:
			errs = append(errs, fmt.Errorf("%s: %w", f.stage, f.err))
		}
	}
	return errors.Join(errs...)
}

func (g *Group) count() (n int) {
	for _, s := range g.steps {
		n += len(s)
	}
	return n
}

func (g *Group) start(stages []Stage, ended chan<- struct{}) runningStep {
	ctx, cancel := context.WithCancel(context.Background())
	s := runningStep{cancel: cancel, done: make(chan outcome, len(stages)), left: map[int]string{}}
	for i, stage := range stages {
		s.left[i] = stage.Name
		go func() {
			err := stage.Run(ctx)
			if errors.Is(err, context.Canceled) && ctx.Err() != nil {
				err = nil
			}
			s.done <- outcome{i, err}
			ended <- struct{}{}
		}()
	}
	return s
}

func (g *Group) stop(s *runningStep) (failed []failure) {
	s.cancel()
	deadline := time.NewTimer(g.grace)
	defer deadline.Stop()
	for len(s.left) > 0 {
		select {
		case o := <-s.done:
			if o.err != nil {
				failed = append(failed, failure{s.left[o.stage], o.err})
			}
			delete(s.left, o.stage)
		case <-deadline.C:
			for _, name := range s.left {
				failed = append(failed, failure{name, fmt.Errorf("did not stop within %v; what it held is read again after the restart", g.grace)})
			}
			return failed
		}
	}
	g.log.Debug("lifecycle: step stopped")
	return failed
}
