package scratch

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const numbers = 20

// Against a plain map, also where the number of rounds overflows.
func TestMarksAreASet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	m, want := NewMarks[int32](numbers), map[int32]bool{}
	m.round = math.MaxUint32 - 3
	for range 1000 {
		k := int32(rng.IntN(numbers))
		if m.Has(k) != want[k] {
			t.Fatalf("has %d: %v", k, m.Has(k))
		}
		if isNew := m.Add(k); isNew == want[k] {
			t.Fatalf("%d is new: %v", k, isNew)
		}
		if want[k] = true; rng.IntN(10) == 0 {
			m.Clear()
			clear(want)
		}
	}
}

// Against a map of slices.
func TestListsAreAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, want := NewLists[uint32, int](numbers), map[uint32][]int{}
	for i := range 1000 {
		k := rng.Uint32N(numbers)
		x.Add(k, i)
		want[k] = slices.Insert(want[k], 0, i)
		got := map[uint32][]int{}
		for k := range uint32(numbers) {
			if list := slices.Collect(x.Of(k)); list != nil {
				got[k] = list
			}
		}
		if !maps.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%v, want %v", got, want)
		}
		if rng.IntN(20) == 0 {
			x.Clear()
			clear(want)
		}
	}
}

// Once warm, neither allocates.
func TestSetsKeepTheirMemory(t *testing.T) {
	m, x := NewMarks[int32](numbers), NewLists[int32, int](numbers)
	sum := 0
	if n := testing.AllocsPerRun(10, func() {
		m.Clear()
		x.Clear()
		for k := range int32(numbers) {
			m.Add(k)
			x.Add(k, 1)
			for v := range x.Of(k) {
				sum += v
			}
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
