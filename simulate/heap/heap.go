// Package heap is a priority queue of 16-byte items without pointers: a four-way heap
// in a slice that allocates only to grow. It is not generic because a generic heap,
// which compares through a dictionary, took a tenth longer in the fluid model.
package heap

// Item is ordered by Key and then by Tie. Ties may wrap around, as long as no two
// items are 2^31 apart; Value is the owner's.
type Item struct {
	Key   int64
	Tie   uint32
	Value uint32
}

// Before orders items.
func (a *Item) Before(b *Item) bool {
	return a.Key < b.Key || a.Key == b.Key && int32(a.Tie-b.Tie) < 0
}

// Heap holds its first item at index 0. The zero value is empty.
type Heap []Item

// Push adds an item.
func (h *Heap) Push(x Item) {
	a := append(*h, x)
	i := len(a) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !x.Before(&a[up]) {
			break
		}
		a[i] = a[up]
		i = up
	}
	a[i] = x
	*h = a
}

// Pop removes and returns the first item; the heap must not be empty.
func (h *Heap) Pop() Item {
	a := *h
	top, x := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	if len(a) == 0 {
		return top
	}
	i := 0
	for {
		least := 4*i + 1
		if least >= len(a) {
			break
		}
		for c := least + 1; c < min(4*i+5, len(a)); c++ {
			if a[c].Before(&a[least]) {
				least = c
			}
		}
		if !a[least].Before(&x) {
			break
		}
		a[i] = a[least]
		i = least
	}
	a[i] = x
	return top
}
