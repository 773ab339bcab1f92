package pattern

import (
	"iter"

	"github.com/giverny/giverny/simulate/packet"
	"github.com/giverny/giverny/topology"
)

// Proc is a process as seen by its Go program. Its methods are the paper's calls; they
// return when the simulated call does.
type Proc struct {
	ID, Count int
	calls     int
	yield     func(Call) bool
}

// New returns a program of count processes, perNode on each node, that all run body.
// Each is a coroutine: body may keep state and branch freely, but must wait only
// through the methods of its Proc.
func New(name string, count, perNode int, body func(p *Proc)) *Program {
	prog := &Program{Name: name}
	for id := range count {
		start := func() (Source, func()) { return coroutine(&Proc{ID: id, Count: count}, body) }
		prog.Processes = append(prog.Processes, Process{ID: id, Node: nodeOf(id, perNode), Meets: true, Start: start})
	}
	return prog
}

// abandoned unwinds the body of a process whose run was abandoned.
type abandoned struct{}

func coroutine(p *Proc, body func(*Proc)) (Source, func()) {
	next, stop := iter.Pull(func(yield func(Call) bool) {
		defer func() {
			if reason := recover(); reason != nil && reason != (abandoned{}) {
				panic(reason)
			}
		}()
		p.yield = yield
		body(p)
	})
	return func(packet.Time) (Call, bool) { return next() }, stop
}

func (p *Proc) call(c Call) Handle {
	if !p.yield(c) {
		panic(abandoned{})
	}
	p.calls++
	return Handle(p.calls)
}

// Put posts a put of bytes into a process' memory, without waiting.
func (p *Proc) Put(to int, bytes int64, tag int) Handle {
	return p.call(Call{Op: Put, Peer: to, Bytes: bytes, Tag: tag})
}

// Get posts a read of bytes of a process' memory, without waiting.
func (p *Proc) Get(from int, bytes int64) Handle {
	return p.call(Call{Op: Get, Peer: from, Bytes: bytes})
}

// Poll waits until a put with the tag is in this process's memory.
func (p *Proc) Poll(tag int) { p.call(Call{Op: Poll, Tag: tag}) }

// Complete waits until a put or get is complete.
func (p *Proc) Complete(h Handle) { p.call(Call{Op: Complete, Handle: h}) }

// CompleteAll waits for everything that this process has posted.
func (p *Proc) CompleteAll() { p.call(Call{Op: Complete, Tag: AnyTag}) }

// Compute is busy for a time in ns.
func (p *Proc) Compute(nanos int64) { p.call(Call{Op: Compute, Bytes: nanos}) }

// Barrier waits for all processes.
func (p *Proc) Barrier() { p.call(Call{Op: Barrier}) }

// Predict runs a program on a fabric.
func Predict(g *topology.Graph, m Model, p *Program) (*Report, error) {
	return Experiment{Graph: g, Model: m, Program: p}.Run()
}
