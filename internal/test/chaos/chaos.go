// Package chaos tests a whole system by faults, as Jepsen does: a random walk over faults that follows from
// a seed, injectors that throw them, a history of every reading that was taken in, and a checker that
// compares what is stored in the end with that history. It knows processes, sockets, folders and numbers;
// what the system under test is made of, and how its tables are read, the test knows that wires it up.
package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Fault is one fault, made and not yet thrown. A fault that is over at once heals with nothing to do.
type Fault interface {
	// Name says what is done to whom: "kill -9 of the analyser".
	Name() string
	// Inject throws it, and returns once it is there.
	Inject(ctx context.Context) error
	// Heal takes it back. The system may need a while to recover after it.
	Heal(ctx context.Context) error
}

// Kind is a kind of fault, of which the walk makes faults.
type Kind struct {
	Name string
	// Targets are what can be hit. Two faults on one target, of whatever kinds, never overlap.
	Targets []string
	// HoldMin and HoldMax bound how long a fault lasts.
	HoldMin, HoldMax time.Duration
	// New makes a fault on a target; what there is to choose comes from rng.
	New func(rng *rand.Rand, target string) Fault
}

// Step is a fault with its time.
type Step struct {
	At, Hold     time.Duration // since the start of the walk
	Kind, Target string
	Fault        Fault
}

// Bounds of the walk.
const (
	maxAtOnce = 3 // faults that are there together
	firstStep = 3 * time.Second
	maxPause  = 4 * time.Second // between two faults
)

// Plan is the walk of a seed: faults that all have ended by the length. Every kind comes once before one
// comes again. The same arguments give the same walk.
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
		seedOfFault := rng.Uint64() // drawn always, so that each step takes as much from rng
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

// free is the earliest time from at on when the target is hit by no fault and fewer than maxAtOnce are there.
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

// recovery keeps two faults on one target apart.
const recovery = time.Second

// String is the step as a line of the walk's record.
func (s Step) String() string {
	return fmt.Sprintf("%6.1fs for %4.1fs  %s", s.At.Seconds(), s.Hold.Seconds(), s.Fault.Name())
}
