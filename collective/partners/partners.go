// Package partners knows who sends to whom in the steps of the common algorithms for collectives, by the positions of n
// ranks in their communicator. Plans are made with it, and algorithms recognised in records. It is arithmetic alone.
package partners

import "math/bits"

// RingSteps is the number of steps of a ring of n: one pass, two for an all-reduce.
func RingSteps(passes, n int) int { return passes * (n - 1) }

// RingNext is the position that a rank sends to in a ring.
func RingNext(position, n int) int { return (position + 1) % n }

// HalvingSteps is the number of steps of halving-doubling over a power of two.
func HalvingSteps(power int) int { return 2 * (bits.Len(uint(power)) - 1) }

// HalvingRound is the round of a step of halving-doubling: 1, 2, 3 and back again. The
// distance of the partners is 1, 2, 4.
func HalvingRound(step, steps int) int { return min(step, steps+1-step) }

// HalvingPartner is the position of the partner in a step of halving-doubling.
func HalvingPartner(position, step, steps int) int {
	return position ^ 1<<(HalvingRound(step, steps)-1)
}

// DirectSteps is the number of steps of a direct all-to-all.
func DirectSteps(n int) int { return n - 1 }

// Pairing is who sends to whom in the steps of a direct all-to-all, by the ranks'
// positions.
type Pairing int

// The pairings in use. In step k a rank sends to the position k further, k back, or its
// position XOR k.
const (
	Unpaired Pairing = iota
	Onwards
	Backwards
	Exchanged
)

// Destination is the position that a rank sends to in a step, among n.
func (p Pairing) Destination(position, step, n int) int {
	switch p {
	case Onwards:
		return (position + step) % n
	case Backwards:
		return (position - step%n + n) % n
	}
	return position ^ step
}

// Source is the position that sends to a rank in a step, among n.
func (p Pairing) Source(position, step, n int) int {
	switch p {
	case Onwards:
		return Backwards.Destination(position, step, n)
	case Backwards:
		return Onwards.Destination(position, step, n)
	}
	return position ^ step
}
