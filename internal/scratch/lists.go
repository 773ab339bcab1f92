package scratch

import "iter"

// Lists are short lists of values by number. Emptying them takes time proportional to the values. They must be made by
// NewLists.
type Lists[K number, V any] struct {
	first  []int32 // by number: the index in links of its last value, plus 1; 0: none
	links  []link[V]
	filled []K // numbers with values
}

// link is a value in a list.
type link[V any] struct {
	value V
	next  int32 // the index of the one before, plus 1; 0: none
}

// NewLists returns empty lists for numbers below n.
func NewLists[K number, V any](n int) Lists[K, V] { return Lists[K, V]{first: make([]int32, n)} }

// Clear empties all lists.
func (x *Lists[K, V]) Clear() {
	for _, k := range x.filled {
		x.first[k] = 0
	}
	x.links, x.filled = x.links[:0], x.filled[:0]
}

// Add adds a value to the list of a number.
func (x *Lists[K, V]) Add(k K, v V) {
	if x.first[k] == 0 {
		x.filled = append(x.filled, k)
	}
	x.links = append(x.links, link[V]{v, x.first[k]})
	x.first[k] = int32(len(x.links))
}

// Of ranges over the list of a number, the last added first.
func (x *Lists[K, V]) Of(k K) iter.Seq[V] {
	return func(yield func(V) bool) {
		for at := x.first[k]; at != 0; at = x.links[at-1].next {
			if !yield(x.links[at-1].value) {
				return
			}
		}
	}
}
