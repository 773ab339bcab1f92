package trees

import (
	"slices"

	"github.com/giverny/giverny/segment/linkset"
)

// Traffic that is spread over all ways up from a switch waits on all of them for the same. On one way alone shares differ too
// much to say which causes it waits for; over all of them the causes show.
const (
	// Of the ways up from a switch that are measured, at least that part stalls, and from a leaf no fewer than hosts wait: each
	// host sends over several.
	leastWays, fewestInGroup = .8, 4
	mostInGroup              = 4 // causes
)

// wayGroup is the stalled ways up from a switch, and the causes that half of them or more lead to.
type wayGroup struct {
	nodes  []int32
	causes [mostInGroup]int32
	n      int
}

// isInGroup reports whether a node goes up, is of a rank and has causes to choose from.
func (h *shares) isInGroup(t *trees, i, rank int32) bool {
	return t.rank[i] == rank && t.waits.isUp(t.links[i]) && !h.atSink[i] && h.of[i].n > 0
}

// gatherGroup gathers the group of which a node is the first; it reports whether there is one.
func (h *shares) gatherGroup(t *trees, first int32) bool {
	g, d, rank := &h.group, t.from[first], t.rank[first]
	g.nodes, g.n = g.nodes[:0], 0
	if !h.isInGroup(t, first, rank) {
		return false
	}
	for _, i := range t.leaving.of(d) {
		if !h.isInGroup(t, i, rank) {
			continue
		}
		if len(g.nodes) == 0 && i != first {
			return false
		}
		g.nodes = append(g.nodes, i)
	}
	measured := 0
	for _, l := range t.waits.out.of(d) {
		if t.waits.isUp(l) && t.values[l] != linkset.Missing {
			measured++
		}
	}
	if n := len(g.nodes); n < fewestInGroup || float64(n) < leastWays*float64(measured) || n < t.stalledHosts(d) {
		return false
	}
	for _, i := range g.nodes {
		for _, p := range h.of[i].list() {
			if !slices.Contains(g.causes[:g.n], p.cause) && h.isMostly(p.cause) {
				if g.n == mostInGroup {
					return false
				}
				g.causes[g.n] = p.cause
				g.n++
			}
		}
	}
	slices.Sort(g.causes[:g.n]) // the numbering of links must not show
	return g.n > 0
}

// isMostly reports whether half of the group's nodes or more lead to a cause.
func (h *shares) isMostly(cause int32) bool {
	g, n := &h.group, 0
	for _, i := range g.nodes {
		if h.of[i].has(cause) {
			n++
		}
	}
	return 2*n >= len(g.nodes)
}

// within is which of a node's causes are in a set of the group's.
func (h *shares) within(i int32, set uint) (own uint) {
	for k, p := range h.of[i].list() {
		if q := slices.Index(h.group.causes[:h.group.n], p.cause); q >= 0 && set>>q&1 != 0 {
			own |= 1 << k
		}
	}
	return own
}
