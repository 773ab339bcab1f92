// Package chaos is fault injection for a whole system, like Jepsen: a random walk over faults, derived from
// a seed, injectors, a history of every reading, and a checker that compares the stored results with the
// history. It knows processes, sockets, folders and numbers; the test supplies the system and reads its
// tables.
package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Fault is a fault to be injected. If it ends by itself, Heal does nothing.
type Fault interface {
	// Name describes the fault: "kill -9 of the analyser".
	Name() string
	// Inject injects the fault, and returns once it is in effect.
	Inject(ctx context.Context) error
	// Heal ends the fault. The system may need time to recover.
	Heal(ctx context.Context) error
}

// Kind is a kind of fault.
type Kind struct {
	Name string
	// Targets are what it can affect. Two faults on one target, of whatever kinds, never overlap.
	Targets []string
	// HoldMin and HoldMax bound the duration of a fault.
	HoldMin, HoldMax time.Duration
	// New creates a fault on a target; random choices use rng.
	New func(rng *rand.Rand, target string) Fault
}

// Step is a scheduled fault.
type Step struct {
	At, Hold     time.Duration // since the start of the walk
	Kind, Target string
	Fault        Fault
}

// Bounds of the walk.
const (
	maxAtOnce = 3 // concurrent faults
	firstStep = 3 * time.Second
	maxPause  = 4 * time.Second // between two faults
)

// Plan returns the walk of a seed: all faults have ended by length. Every kind occurs once before any is
// repeated. It is deterministic.
func Plan(seed uint64, kinds []Kind, length time.Duration) []Step {
	rng := rand.New(rand.NewPCG(seed, uint64(length)))
	var steps []Step
	var bag []int
	for at := firstStep; ; at += time.Duration(rng.Int64N(int64(maxPause))) {
		if len(bag) == 0 {
			bag = rng.Perm(len(kinds))
		}
		kind := &kinds[bag[0]]
		target := kind.Targets[rng.IntN(len(kind.Targets))]
		hold := kind.HoldMin + time.Duration(rng.Int64N(int64(kind.HoldMax-kind.HoldMin)+1))
		seedOfFault := rng.Uint64() // always drawn, so that each step consumes the same from rng
		at = free(steps, at, target)
		if at >= length {
			return steps
		}
		bag = bag[1:]
		if at+hold > length {
			continue
		}
		steps = append(steps, Step{at, hold, kind.Name, target, kind.New(rand.New(rand.NewPCG(seedOfFault, 1)), target)})
	}
}

// free returns the earliest time from at when target has no fault and fewer than maxAtOnce are active.
func free(steps []Step, at time.Duration, target string) time.Duration {
	for {
		there, next := 0, time.Duration(1<<62)
		busy := false
		for _, s := range steps {
			if end := s.At + s.Hold + recovery; end > at {
				there++
				busy = busy || s.Target == target
				next = min(next, end)
			}
		}
		if !busy && there < maxAtOnce {
			return at
		}
		at = next
	}
}

// recovery is the minimum time between two faults on one target.
const recovery = time.Second

// String formats the step as a line of the log.
func (s Step) String() string {
	return fmt.Sprintf("%6.1fs for %4.1fs  %s", s.At.Seconds(), s.Hold.Seconds(), s.Fault.Name())
}
