package network

import "iter"

// Table maps some ports of a fabric to values. Emptying it takes time proportional to the entries, so small runs in a
// large fabric stay cheap.
type Table[T any] struct {
	of     *Router
	place  []int32 // by the port's number: its index in list plus 1; 0: no entry
	beside map[Port]int32
	list   []entry[T]
}

type entry[T any] struct {
	Port
	value T
}

// NewTable returns an empty table of ports of a router's fabric.
func NewTable[T any](n *Router) Table[T] { return Table[T]{of: n} }

// find is the index of a port's entry in list plus 1; 0: none.
func (t *Table[T]) find(p Port) int32 {
	if k := t.of.number(p); k < 0 {
		return t.beside[p]
	} else if t.place != nil {
		return t.place[k]
	}
	return 0
}

// Get returns the value of a port; nil if there is none. It is valid until At is called.
func (t *Table[T]) Get(p Port) *T {
	if i := t.find(p); i > 0 {
		return &t.list[i-1].value
	}
	return nil
}

// At returns the value of a port, creating it if needed. It is valid until the next call.
func (t *Table[T]) At(p Port) *T {
	if found := t.Get(p); found != nil {
		return found
	}
	t.list = append(t.list, entry[T]{Port: p})
	i := int32(len(t.list))
	if k := t.of.number(p); k >= 0 {
		if t.place == nil {
			t.place = make([]int32, len(t.of.hopOf))
		}
		t.place[k] = i
	} else {
		if t.beside == nil {
			t.beside = map[Port]int32{}
		}
		t.beside[p] = i
	}
	return &t.list[i-1].value
}

// Empty removes all entries and keeps their memory.
func (t *Table[T]) Empty() {
	for _, e := range t.list {
		if k := t.of.number(e.Port); k >= 0 {
			t.place[k] = 0
		}
	}
	clear(t.beside)
	clear(t.list)
	t.list = t.list[:0]
}

// All ranges over the entries, in the order in which they were created.
func (t *Table[T]) All() iter.Seq2[Port, *T] {
	return func(yield func(Port, *T) bool) {
		for i := range t.list {
			if !yield(t.list[i].Port, &t.list[i].value) {
				return
			}
		}
	}
}
