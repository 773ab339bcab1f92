package fluid

import (
	"math"

	"github.com/giverny/giverny/simulate/heap"
)

// shareHeap orders resources by the rate that each flow left on them could have,
// the smallest first; their number breaks ties, so that results do not depend on
// the order of insertion. The bits of a float64 that is not negative order as it
// does.
type shareHeap struct{ heap.Heap }

func (h *shareHeap) push(perFlow float64, res Resource) {
	h.Push(heap.Item{Key: int64(math.Float64bits(perFlow)), Tie: uint32(res)})
}

// least is the smallest share.
func (h *shareHeap) least() float64 { return math.Float64frombits(uint64(h.Heap[0].Key)) }

func (h *shareHeap) pop() (perFlow float64, res Resource) {
	x := h.Pop()
	return math.Float64frombits(uint64(x.Key)), Resource(x.Tie)
}
