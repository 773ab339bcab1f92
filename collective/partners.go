package collective

import "math/bits"

// Who sends to whom in each step, by position among n ranks: Decompose plans with these
// functions, and course recognises algorithms by them.

// ringSteps is the number of steps of a ring of n: one pass, or two for an all-reduce.
func ringSteps(operation Operation, n int) int {
	if operation == AllReduce {
		return 2 * (n - 1)
	}
	return n - 1
}

// ringNext is the position that a rank sends to in a ring.
func ringNext(position, n int) int { return (position + 1) % n }

// halvingSteps is the number of steps of halving-doubling over a power of two.
func halvingSteps(power int) int { return 2 * (bits.Len(uint(power)) - 1) }

// halvingRound is the round of a step of halving-doubling: 1, 2, 3 and back again. The
// distance of the partners is 1, 2, 4.
func halvingRound(step, steps int) int { return min(step, steps+1-step) }

// halvingPartner is the position of the partner in a step of halving-doubling.
func halvingPartner(position, step, steps int) int {
	return position ^ 1<<(halvingRound(step, steps)-1)
}

// directSteps is the number of steps of a direct all-to-all.
func directSteps(n int) int { return n - 1 }

// pairing is who sends to whom in the steps of a direct all-to-all, by the ranks'
// positions.
type pairing int

// The pairings in use. In step k a rank sends to the position k further, k back, or its
// position XOR k.
const (
	unpaired pairing = iota
	onwards
	backwards
	exchanged
)

// destination is the position that a rank sends to in a step, among n.
func (p pairing) destination(position, step, n int) int {
	switch p {
	case onwards:
		return (position + step) % n
	case backwards:
		return (position - step%n + n) % n
	}
	return position ^ step
}

// source is the position that sends to a rank in a step, among n.
func (p pairing) source(position, step, n int) int {
	switch p {
	case onwards:
		return backwards.destination(position, step, n)
	case backwards:
		return onwards.destination(position, step, n)
	}
	return position ^ step
}
