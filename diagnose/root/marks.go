package root

// marks is a set of links or devices that is emptied at once.
type marks[K ~uint32] struct {
	round uint32   // of the current members
	in    []uint32 // by link or device: the round in which it was added last
}

func newMarks[K ~uint32](n int) marks[K] { return marks[K]{round: 1, in: make([]uint32, n)} }

func (m *marks[K]) clear() {
	if m.round++; m.round == 0 {
		clear(m.in)
		m.round = 1
	}
}

func (m *marks[K]) has(k K) bool { return m.in[k] == m.round }

// add reports whether k is new.
func (m *marks[K]) add(k K) bool {
	isNew := m.in[k] != m.round
	m.in[k] = m.round
	return isNew
}
