package heap_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/simulate/heap"
)

func compare(a, b heap.Item) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(int32(a.Tie-b.Tie), 0))
}

// TestHeapSorts: for any pushes and pops the first item comes out, with ties wrapping
// around.
func TestHeapSorts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h heap.Heap
		var naive []heap.Item
		tie := rapid.SampledFrom([]uint32{0, 1<<32 - 50}).Draw(t, "first tie")
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			if len(naive) > 0 && rapid.IntRange(0, 2).Draw(t, "pop") == 0 {
				if h[0] != naive[0] || h.Pop() != naive[0] {
					t.Fatalf("want %v first", naive[0])
				}
				naive = naive[1:]
				continue
			}
			x := heap.Item{Key: int64(rapid.IntRange(-5, 5).Draw(t, "key")), Tie: tie, Value: tie}
			tie++
			h.Push(x)
			at, _ := slices.BinarySearchFunc(naive, x, compare)
			naive = slices.Insert(naive, at, x)
		}
		if len(h) != len(naive) {
			t.Fatalf("%d left, want %d", len(h), len(naive))
		}
	})
}

func TestNoAllocations(t *testing.T) {
	var h heap.Heap
	for i := range 100 {
		h.Push(heap.Item{Key: int64(100 - i)})
	}
	n := testing.AllocsPerRun(100, func() {
		x := h.Pop()
		x.Key += 17
		h.Push(x)
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}
