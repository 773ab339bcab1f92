// Package lifecycle runs the stages of a process concurrently and shuts them down in
// order, so that data already read by a source still reaches its sink. It does not know
// what the stages do.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Stage is one part of a process. Run blocks until ctx is cancelled and its data has
// been passed on; it returns nil on cancel. Its errors are prefixed with its name,
// unless the name is empty: a command that is a process's sole purpose.
type Stage struct {
	Name string
	Run  func(ctx context.Context) error
}

// Group is a list of stages in the order of the data: source, buffer, analysis, sink.
// Stages of the same step are stopped together.
type Group struct {
	log   *slog.Logger
	grace time.Duration
	steps [][]Stage
}

// New returns a group that gives every step at most grace to drain.
func New(log *slog.Logger, grace time.Duration) *Group { return &Group{log: log, grace: grace} }

// Add appends a step of stages that start and stop together.
func (g *Group) Add(stages ...Stage) { g.steps = append(g.steps, stages) }

type outcome struct {
	stage int // index in the step
	err   error
}

// stageError is an error of the named stage.
type stageError struct {
	stage string
	err   error
}

func (e *stageError) Error() string {
	if e.stage == "" {
		return e.err.Error()
	}
	return e.stage + ": " + e.err.Error()
}

func (e *stageError) Unwrap() error { return e.err }

type runningStep struct {
	cancel context.CancelFunc
	done   chan outcome   // one per stage
	left   map[int]string // names of the running stages, by index in the step
}

// Run starts every stage and waits. When ctx is cancelled, or a stage ends by itself,
// it stops the steps first to last, waiting for each to drain before it stops the next.
// It returns the stages' errors, or nil; errors that only pass on another stage's error
// are omitted.
func (g *Group) Run(ctx context.Context) error {
	if g.count() == 0 {
		return nil
	}
	ended := make(chan struct{}, g.count())
	steps := make([]runningStep, len(g.steps))
	for i := len(g.steps) - 1; i >= 0; i-- { // sinks first, so that no data is lost
		steps[i] = g.start(g.steps[i], ended)
	}
	select {
	case <-ctx.Done():
	case <-ended:
	}
	var errs []error
	for i := range steps {
		errs = append(errs, g.stop(&steps[i])...)
	}
	return errors.Join(causes(errs)...)
}

// causes removes errors that wrap another stage's error: if the engine does not start,
// the stage that waits for it ends with the engine's error. A plain sentinel, such as
// io.EOF, does not count: two stages can encounter it independently.
func causes(errs []error) []error {
	return slices.DeleteFunc(slices.Clone(errs), func(e error) bool {
		return slices.ContainsFunc(errs, func(other error) bool {
			cause := errors.Unwrap(other)
			return errors.Unwrap(cause) != nil && errors.Is(e, cause) && !errors.Is(other, errors.Unwrap(e))
		})
	})
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

func (g *Group) stop(s *runningStep) (errs []error) {
	s.cancel()
	deadline := time.NewTimer(g.grace)
	defer deadline.Stop()
	for len(s.left) > 0 {
		select {
		case o := <-s.done:
			if o.err != nil {
				errs = append(errs, &stageError{s.left[o.stage], o.err})
			}
			delete(s.left, o.stage)
		case <-deadline.C:
			for _, name := range s.left {
				errs = append(errs, &stageError{name, fmt.Errorf("did not stop within %v; its pending data is read again after the restart", g.grace)})
			}
			return errs
		}
	}
	g.log.Debug("lifecycle: step stopped")
	return errs
}
