package scratch

// number is what sets and lists are kept by: numbers from 0 on.
type number interface{ ~int32 | ~uint32 }

// Marks is a set of numbers that is emptied at once. It needs room for all of them, and must be made by NewMarks.
type Marks[K number] struct {
	round uint32   // of the present members
	in    []uint32 // by number: the round in which it was added last
}

// NewMarks returns an empty set for numbers below n.
func NewMarks[K number](n int) Marks[K] { return Marks[K]{round: 1, in: make([]uint32, n)} }

// Clear empties the set.
func (m *Marks[K]) Clear() {
	if m.round++; m.round == 0 {
		clear(m.in)
		m.round = 1
	}
}

// Has reports whether a number is in the set.
func (m *Marks[K]) Has(k K) bool { return m.in[k] == m.round }

// Add adds a number, and reports whether it is new.
func (m *Marks[K]) Add(k K) (isNew bool) {
	isNew = m.in[k] != m.round
	m.in[k] = m.round
	return isNew
}
