package trees

import (
	"slices"

	"github.com/giverny/giverny/segment/trees/index"
)

// dropLone removes lone hot links from the causes that they may wait for.
func (m *Method) dropLone() {
	for i := range m.Links.Len() {
		if m.isHotAlone(i) {
			m.shares.of[i].n = 0
		}
	}
}

// isHotAlone reports whether a link is a lone hot link: it stalls far more than all that it may wait for, while
// nothing waits for it and no sibling stalls (a link from the same switch to the same level, or from another host of
// the leaf). A smaller excess says nothing: links that share the way on each wait for their turn.
func (m *Method) isHotAlone(i index.Node) bool {
	if m.port[i] || m.sink[i] >= 0 || !m.isUnexplained(i) {
		return false
	}
	w, l := m.Graph, m.Links[i]
	if m.FromHost(i) {
		return m.StalledHosts(m.To[i]) == 1
	}
	isBeside := func(j index.Node) bool { return j != i && w.Level[m.To[j]] == w.Level[m.To[i]] }
	waits := func(j index.Node) bool { return w.MayWait(m.Links[j], l) }
	return !slices.ContainsFunc(m.Leaving.Of(m.From[i]), isBeside) && !slices.ContainsFunc(m.Into.Of(m.From[i]), waits)
}

// fewestTogether is the least mean number of links per connected piece of a region.
const fewestTogether = 3

// isCohesive reports whether some nodes' links are in large enough pieces: n links in p pieces touch at most n+p
// devices. Many lone hot links beside one tree are not a region.
func (t *trees) isCohesive(nodes []index.Node) bool {
	t.met.Clear()
	devices := 0
	for _, i := range nodes {
		for _, d := range [2]index.Device{t.From[i], t.To[i]} {
			if t.met.Add(d) {
				devices++
			}
		}
	}
	return fewestTogether*(devices-len(nodes)) <= len(nodes)
}
