package trees

import "slices"

// dropLone takes links that are hot alone out of the causes that they may wait for.
func (m *Method) dropLone() {
	for i := range int32(len(m.links)) {
		if m.isHotAlone(i) {
			m.shares.of[i].n = 0
		}
	}
}

// isHotAlone reports whether a link stalls far more than all that it may wait for, while nothing waits for it and no other
// that leaves the same switch for one of its level, or a host of the same leaf, stalls: it is hot alone, not part of a tree.
// A little more says nothing: where several share the way on, each of them waits for its turn, too.
func (m *Method) isHotAlone(i int32) bool {
	if m.port[i] || m.sink[i] >= 0 || !m.isUnexplained(i) {
		return false
	}
	w, l := m.waits, m.links[i]
	if m.fromHost(i) {
		return m.stalledHosts(m.to[i]) == 1
	}
	isBeside := func(j int32) bool { return j != i && w.level[m.to[j]] == w.level[m.to[i]] }
	waits := func(j int32) bool { return w.mayWait(m.links[j], l) }
	return !slices.ContainsFunc(m.leaving.of(m.from[i]), isBeside) && !slices.ContainsFunc(m.into.of(m.from[i]), waits)
}

// fewestTogether is the mean number of links that hang together at switches in a region.
const fewestTogether = 3

// hangsTogether reports whether some nodes' links do: n links in pieces leave or enter at most as many devices and one more
// for each piece. Those beside one tree that are each hot alone are no region, however many.
func (t *trees) hangsTogether(nodes []int32) bool {
	t.met = t.met[:0]
	for _, i := range nodes {
		for _, d := range [2]int32{t.from[i], t.to[i]} {
			if !t.isMet[d] {
				t.isMet[d] = true
				t.met = append(t.met, d)
			}
		}
	}
	for _, d := range t.met {
		t.isMet[d] = false
	}
	return fewestTogether*(len(t.met)-len(nodes)) <= len(nodes)
}
