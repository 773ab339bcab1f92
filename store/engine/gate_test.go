package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
)

func TestGate(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	g := newGate()
	if err := g.wait(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("new gate: %v, want it shut", err)
	}
	g.open()
	g.open()
	if err := g.wait(context.Background()); err != nil {
		t.Errorf("open gate: %v", err)
	}
	g.shut()
	g.shut()
	if err := g.wait(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("shut gate: %v", err)
	}

	broken := errors.New("broken")
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if err := g.wait(context.Background()); err != broken {
			t.Errorf("broken while waiting: %v", err)
		}
	})
	g.breakWith(broken)
	waiting.Wait()
	g.breakWith(errors.New("again"))
	g.shut()
	if err := g.wait(context.Background()); err != broken {
		t.Errorf("broken gate: %v", err)
	}
}
