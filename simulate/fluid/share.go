package fluid

import (
	"math"

	"github.com/giverny/giverny/simulate/heap"
)

// shareHeap orders resources by the rate available to each remaining flow, smallest
// first; resource numbers break ties, so that results do not depend on insertion order.
// The bits of a non-negative float64 sort like its value.
type shareHeap struct{ heap.Heap }

func (h *shareHeap) push(perFlow float64, res Resource) {
	h.Push(heap.Item{Key: int64(math.Float64bits(perFlow)), Tie: uint32(res)})
}

// least returns the smallest share.
func (h *shareHeap) least() float64 { return math.Float64frombits(uint64(h.Heap[0].Key)) }

func (h *shareHeap) pop() (perFlow float64, res Resource) {
	x := h.Pop()
	return math.Float64frombits(uint64(x.Key)), Resource(x.Tie)
}
