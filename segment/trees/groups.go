package trees

import (
	"math"
	"math/bits"
	"slices"

	"github.com/giverny/giverny/segment/linkset"
)

// Traffic that is spread over all ways up from a switch waits on all of them for the same. On one way alone shares differ too
// much to say which causes it waits for; over all of them the causes show.
const (
	// Of the ways up from a switch that are measured, at least that part stalls, and from a leaf no fewer than hosts wait: each
	// host sends over several.
	leastWays, fewestInGroup = .8, 4
	// By how much the ways of one switch that wait for one cause differ, in logarithms, while few say it, and at least; and
	// switches differ.
	usualSpread, leastWaySpread, switchSpread = .15, .03, .35
	spreadPrior                               = 8
	// What is added to the logarithm of the likelihood for each cause but the first, for each way that has others than the
	// rest; how far one way counts.
	anotherCause, ownCauses, mostOff = 1.5, 3.5, 8
	mostInGroup                      = 4
)

// wayGroup is the stalled ways up from a switch, and the causes that half of them or more lead to.
type wayGroup struct {
	nodes   []int32
	causes  [mostInGroup]int32
	n       int
	logs    []float64
	spreads []float64
	spread  float64
}

// choosePerSwitch chooses the causes of the ways up from a switch together, for the nodes of a hop: their parts hold what each
// cause is supposed to stall them.
func (h *shares) choosePerSwitch(t *trees, s *sinks, c *causes, nodes []int32) {
	h.measureSpread(t, nodes)
	for _, i := range nodes {
		if h.gatherGroup(t, i) && h.group.n > 1 {
			h.chooseGroup(t, s, c)
		}
	}
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

// measureSpread finds by how much the ways up from one switch differ that lead to one cause.
func (h *shares) measureSpread(t *trees, nodes []int32) {
	g := &h.group
	g.spreads = g.spreads[:0]
	for range spreadPrior {
		g.spreads = append(g.spreads, usualSpread/perMedian)
	}
	for _, i := range nodes {
		if !h.gatherGroup(t, i) || g.n > 1 {
			continue
		}
		g.logs = g.logs[:0]
		for _, j := range g.nodes {
			if h.of[j].n == 1 {
				g.logs = append(g.logs, h.excess(t, j, 1))
			}
		}
		if len(g.logs) < fewestInGroup {
			continue
		}
		middle := medianOf(g.logs)
		for _, x := range g.logs {
			g.spreads = append(g.spreads, math.Abs(x-middle))
		}
	}
	g.spread = max(leastWaySpread, perMedian*medianOf(g.spreads))
}

// excess is by how much a node stalls more than a set of its causes predicts, in logarithms.
func (h *shares) excess(t *trees, i int32, set uint) float64 {
	sum := 0.
	for k, p := range h.of[i].list() {
		if set>>k&1 != 0 {
			sum += p.stall
		}
	}
	return math.Log(t.stall[i] / min(100, sum))
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

// costOf is how badly a set of its causes explains a node at a switch that stalls so much more than predicted.
func (h *shares) costOf(t *trees, i int32, set uint, share float64) float64 {
	if set == 0 {
		return math.Inf(1)
	}
	noise := t.noise.sigma(t.stall[i]) / t.stall[i]
	off := h.excess(t, i, set) - share
	return min(mostOff, off*off/2/(h.group.spread*h.group.spread+noise*noise))
}

// chooseGroup finds the causes that explain a group best, all together, and gives them to those nodes that what was chosen for
// each by itself explains hardly better.
func (h *shares) chooseGroup(t *trees, s *sinks, c *causes) {
	g, least, chosen, share := &h.group, math.Inf(1), uint(0), 0.
	for set := uint(1); set < 1<<g.n; set++ {
		if bits.OnesCount(set) > mostAtOnce {
			continue
		}
		x := h.shareOf(t, set)
		cost := h.priorOf(t, s, c, set) + x*x/2/(switchSpread*switchSpread)
		for _, i := range g.nodes {
			cost += min(h.costOf(t, i, h.within(i, set), x), h.costOf(t, i, h.chosen[i], x)+ownCauses)
		}
		if cost < least {
			least, chosen, share = cost, set, x
		}
	}
	for _, i := range g.nodes {
		if set := h.within(i, chosen); h.costOf(t, i, set, share) <= h.costOf(t, i, h.chosen[i], share)+ownCauses {
			h.chosen[i] = set
		}
	}
}

// shareOf is by how much a group stalls more than a set of its causes predicts, in logarithms.
func (h *shares) shareOf(t *trees, set uint) float64 {
	g := &h.group
	g.logs = g.logs[:0]
	for _, i := range g.nodes {
		if own := h.within(i, set); own != 0 {
			g.logs = append(g.logs, h.excess(t, i, own))
		}
	}
	n := float64(len(g.logs))
	return medianOf(g.logs) * n / (n + g.spread*g.spread/(switchSpread*switchSpread))
}

// priorOf is what a set of a group's causes costs before its stalls are looked at.
func (h *shares) priorOf(t *trees, s *sinks, c *causes, set uint) float64 {
	cost := anotherCause * float64(bits.OnesCount(set)-1)
	leaf := t.leafOf(h.group.nodes[0])
	if leaf < 0 {
		return cost
	}
	for k, cause := range h.group.causes[:h.group.n] {
		if !c.isExchange(cause) {
			continue
		}
		if part := c.takesPart(t, s, leaf, cause); part == yes && set>>k&1 == 0 || part == no && set>>k&1 != 0 {
			cost += partnerCost
		}
	}
	return cost
}
