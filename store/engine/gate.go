package engine

import (
	"context"
	"sync"
)

// gate blocks callers while the engine is unavailable.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // closed while the gate is open; guarded by mu
	broken error         // set once if it will not open again; guarded by mu
}

func newGate() *gate { return &gate{opened: make(chan struct{})} }

// open lets callers through.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isOpen() {
		close(g.opened)
	}
}

// shut makes callers wait.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isOpen() && g.broken == nil {
		g.opened = make(chan struct{})
	}
}

// breakWith makes all callers fail from now on.
func (g *gate) breakWith(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broken == nil {
		g.broken = err
	}
	if !g.isOpen() {
		close(g.opened)
	}
}

func (g *gate) isOpen() bool {
	select {
	case <-g.opened:
		return true
	default:
		return false
	}
}

// wait blocks until the gate is open and returns nil, or returns the error of ctx or breakWith.
func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	select {
	case <-opened:
	case <-ctx.Done():
		return ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.broken
}
