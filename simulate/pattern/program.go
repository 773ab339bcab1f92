package pattern

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/giverny/giverny/simulate/packet"
)

// Op is the operation of a call.
type Op uint8

// Operations. The paper's names are MGEN_rdma_put, MGEN_rdma_poll, MGEN_acp_complete
// and MGEN_Comp; it mentions that NSIM-ACE has a get too, without details.
const (
	Put      Op = iota // post a write of Bytes to Peer's memory, without waiting
	Get                // post a read of Bytes of Peer's memory, without waiting
	Poll               // wait until a put with Tag is in this process's memory
	Complete           // wait until a put or get of this process with Tag is complete
	Compute            // be busy for Nanos
	Barrier            // wait for all processes that use barriers
)

var opNames = [...]string{"put", "get", "poll", "complete", "compute", "barrier"}

func (o Op) String() string { return opNames[o] }

func parseOp(name string) (Op, error) {
	if i := slices.Index(opNames[:], strings.ToLower(name)); i >= 0 {
		return Op(i), nil
	}
	return 0, fmt.Errorf("op %q%s", name, suggestion(name, opNames[:]))
}

// AnyTag on a Complete means all puts and gets posted by the process.
const AnyTag = -1 << 31

// Handle is a posted put or get.
type Handle int

// Call is one step of a process.
//
// The n-th poll of a tag waits for the n-th put with that tag to arrive, from any
// process; the n-th complete of a tag waits for the n-th put or get with that tag
// posted by the process, as the paper's handle does.
type Call struct {
	Op     Op
	Peer   int   // process, of a put or get
	Bytes  int64 // of a put or get; ns of a compute
	Tag    int
	Class  int    // of a put or get: service level or priority
	Handle Handle // of a complete: the put or get it waits for, regardless of tag; 0: by tag
	Row    int    // for a program from a file: the call's number in it, from 0
}

// Source yields a process' calls in program order. It is called again only when the
// last call is over, so it may be a state machine or a coroutine.
type Source func(now packet.Time) (Call, bool)

// Process is a program on a node; nodes are numbered as in graph.Hosts().
type Process struct {
	ID    int
	Node  int
	Meets bool                    // takes part in barriers
	Start func() (Source, func()) // starts the program again; the second function, if not nil, stops it
}

// Program is what all processes do. It can be run many times.
type Program struct {
	Name      string
	Processes []Process
	rows      bool // calls are numbered by Row
}

// machine is a program as a function of the step number.
type machine func(step int) (Call, bool)

func (m machine) start() (Source, func()) {
	step := -1
	return func(packet.Time) (Call, bool) {
		step++
		return m(step)
	}, nil
}

// list is the machine for a list of calls.
func list(calls []Call) machine {
	return func(step int) (Call, bool) {
		if step >= len(calls) {
			return Call{}, false
		}
		return calls[step], true
	}
}

// nodeOf places processes on nodes, perNode on each.
func nodeOf(process, perNode int) int { return process / max(perNode, 1) }

// validate checks what a run relies on.
func (p *Program) validate(nodes int) error {
	if len(p.Processes) == 0 {
		return fmt.Errorf("program %q has no processes", p.Name)
	}
	var errs []error
	seen := map[int]bool{}
	for _, q := range p.Processes {
		if q.Node < 0 || q.Node >= nodes {
			errs = append(errs, fmt.Errorf("%s: process %d: node %d is not one of the fabric's %d nodes", p.Name, q.ID, q.Node, nodes))
		}
		if seen[q.ID] {
			errs = append(errs, fmt.Errorf("process %d is duplicated in program %q", q.ID, p.Name))
		}
		seen[q.ID] = true
	}
	return firstOf(errs)
}

// firstOf joins the first errors of many, and says how many more there are.
func firstOf(errs []error) error {
	const most = 8
	if more := len(errs) - most; more > 0 {
		errs = append(errs[:most:most], fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}
