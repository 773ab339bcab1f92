package collective

import "math/bits"

// Who sends to whom in which step, by the positions of the ranks among n: what Decompose
// plans by, and what the course of a collective is recognised by.

// ringSteps is how many steps a ring of n has: one pass, or two for an all-reduce.
func ringSteps(operation Operation, n int) int {
	if operation == AllReduce {
		return 2 * (n - 1)
	}
	return n - 1
}

// ringNext is the position that one sends to in a ring.
func ringNext(position, n int) int { return (position + 1) % n }

// halvingSteps is how many steps halving-doubling over a power of two has.
func halvingSteps(power int) int { return 2 * (bits.Len(uint(power)) - 1) }

// halvingRound is the round of a step of halving-doubling: 1, 2, 3 and back again. The
// distance of the partners is 1, 2, 4.
func halvingRound(step, steps int) int { return min(step, steps+1-step) }

// halvingPartner is the position that one exchanges with in a step of halving-doubling.
func halvingPartner(position, step, steps int) int {
	return position ^ 1<<(halvingRound(step, steps)-1)
}

// directSteps is how many steps a direct all-to-all has.
func directSteps(n int) int { return n - 1 }

// pairing is who sends to whom in the steps of a direct all-to-all, by the ranks'
// positions.
type pairing int

// The pairings in use: in step k to the position k further on, k back, or at the
// distance k in binary.
const (
	unpaired pairing = iota
	onwards
	backwards
	exchanged
)

// destination is the position that one sends to in a step among n.
func (p pairing) destination(position, step, n int) int {
	switch p {
	case onwards:
		return (position + step) % n
	case backwards:
		return (position - step%n + n) % n
	}
	return position ^ step
}

// source is the position that sends to one in a step among n.
func (p pairing) source(position, step, n int) int {
	switch p {
	case onwards:
		return backwards.destination(position, step, n)
	case backwards:
		return onwards.destination(position, step, n)
	}
	return position ^ step
}
