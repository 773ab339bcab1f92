package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/internal/lifecycle"
)

type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(s string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, s)
}

func (j *journal) stage(name string, drain time.Duration) lifecycle.Stage {
	return lifecycle.Stage{Name: name, Run: func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(drain)
		j.add(name)
		return nil
	}}
}

func TestStopsInOrderOfData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		g := lifecycle.New(slog.New(slog.DiscardHandler), time.Second)
		g.Add(j.stage("source", 20*time.Millisecond))
		g.Add(j.stage("analysis", 0))
		g.Add(j.stage("sink", 0))
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		if err := g.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if want := []string{"source", "analysis", "sink"}; !slices.Equal(j.lines, want) {
			t.Errorf("stopped %v, want %v", j.lines, want)
		}
	})
}

// Two stages with the same name in a step are separate: the step ends when both have ended, and both are named
// if they hang.
func TestStagesOfOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		g := lifecycle.New(slog.New(slog.DiscardHandler), 5*time.Second)
		g.Add(j.stage("analyser", 0), j.stage("analyser", 50*time.Millisecond))
		g.Add(j.stage("sink", 0))
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		if err := g.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if want := []string{"analyser", "analyser", "sink"}; !slices.Equal(j.lines, want) {
			t.Errorf("stopped %v, want %v", j.lines, want)
		}

		release := make(chan struct{})
		stuck := lifecycle.Stage{Name: "analyser", Run: func(context.Context) error { <-release; return nil }}
		g = lifecycle.New(slog.New(slog.DiscardHandler), 20*time.Millisecond)
		g.Add(stuck, stuck)
		ctx, cancel = context.WithCancel(context.Background())
		cancel()
		err := g.Run(ctx)
		close(release)
		if err == nil || strings.Count(err.Error(), "analyser: did not stop") != 2 {
			t.Errorf("two stuck stages: %v", err)
		}
	})
}

func TestOneFailureStopsAllAndIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		boom := errors.New("boom")
		g := lifecycle.New(slog.New(slog.DiscardHandler), time.Second)
		g.Add(j.stage("source", 0))
		g.Add(lifecycle.Stage{Name: "analysis", Run: func(context.Context) error { return boom }})
		err := g.Run(context.Background())
		if !errors.Is(err, boom) || !strings.Contains(err.Error(), "analysis") {
			t.Errorf("got %v", err)
		}
		if len(j.lines) != 1 {
			t.Error("the source was not stopped")
		}
	})
}

// A stage that ends with the error of another one it waits for adds nothing; the same kind of error in two stages
// counts twice.
func TestAnErrorIsReportedOnce(t *testing.T) {
	kind := errors.New("no space left")
	cause := fmt.Errorf("start: %w", kind)
	fails := func(name string, err error) lifecycle.Stage {
		return lifecycle.Stage{Name: name, Run: func(context.Context) error { return err }}
	}
	for want, stages := range map[string][]lifecycle.Stage{
		"engine: start: no space left":                      {fails("", fmt.Errorf("engine has stopped: %w", cause)), fails("engine", cause)},
		"nothing to report":                                 {fails("", errors.New("nothing to report"))},
		"a: no space left\nb: no space left":                {fails("a", kind), fails("b", kind)},
		"a: first: no space left\nb: second: no space left": {fails("a", fmt.Errorf("first: %w", kind)), fails("b", fmt.Errorf("second: %w", kind))},
		"a: EOF\nb: read: EOF":                              {fails("a", io.EOF), fails("b", fmt.Errorf("read: %w", io.EOF))},
	} {
		g := lifecycle.New(slog.New(slog.DiscardHandler), time.Second)
		for _, s := range stages {
			g.Add(s)
		}
		if err := g.Run(t.Context()); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestStuckStageIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		g := lifecycle.New(slog.New(slog.DiscardHandler), 10*time.Millisecond)
		g.Add(lifecycle.Stage{Name: "stuck", Run: func(context.Context) error { <-release; return nil }})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := g.Run(ctx); err == nil || !strings.Contains(err.Error(), "stuck") {
			t.Errorf("got %v", err)
		}
	})
}
