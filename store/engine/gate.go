package engine

import (
	"context"
	"sync"
)

// gate holds callers up while the engine is away.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // closed while the gate is open; guarded by mu
	broken error         // set once, when it will not open again; guarded by mu
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

// shut holds callers up.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isOpen() && g.broken == nil {
		g.opened = make(chan struct{})
	}
}

// breakWith fails all callers from now on.
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

// wait returns nil once the gate is open.
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
