package trees

import (
	"slices"

	"github.com/giverny/giverny/internal/scratch"
)

// hostCosts finds, on a fabric of two levels, how unlikely it is that hosts wait for a cause: from the leaves whose uplinks
// wait for it alone, and from its root's leaf. Whether senders push so hard that hosts wait is alike at most leaves of a
// cause, so this tells for which of several causes the hosts of a leaf wait.
type hostCosts struct {
	some, none by[causeID, float64] // leaves of which some hosts wait, and of which none does
	cost       by[causeID, float64] // that hosts wait for it
}

func (costs *hostCosts) find(t *trees, s *sinks, c *causes, h *shares) {
	n := len(h.fall)
	costs.some, costs.none, costs.cost = scratch.Zeroed(costs.some, n), scratch.Zeroed(costs.none, n), scratch.Slice(costs.cost, n)
	for d := range t.seen.len() {
		if !t.waits.isLeaf(d) {
			continue
		}
		only := h.onlyCause(t, d)
		if a := s.at(d); a >= 0 && t.stalledUp(d) == 0 {
			only = c.causeOf(a)
		}
		switch {
		case only < 0:
		case t.stalledHosts(d) > 0:
			costs.some[only]++
		default:
			costs.none[only]++
		}
	}
	for k := range costs.cost {
		costs.cost[k] = costOf(hostChance(costs.some[k], costs.none[k]))
	}
}

// onlyCause is the cause for which all stalled uplinks of a leaf wait; -1 if there is none or several.
func (h *shares) onlyCause(t *trees, leaf deviceID) causeID {
	only := causeID(-1)
	for _, i := range t.leaving.of(leaf) {
		if t.toHost(i) {
			continue
		}
		for _, p := range h.of[i].list() {
			if only >= 0 && only != p.cause {
				return -1
			}
			only = p.cause
		}
	}
	return only
}

// costOn is what it costs that a node waits for a cause, if it is a link from a host, or the only stalled uplink of a leaf.
func (costs *hostCosts) costOn(t *trees, h *shares, i nodeID, cause causeID) float64 {
	switch {
	case t.fromHost(i):
		return costs.cost[cause]
	case h.isSpread && t.isOnlyUp(i):
		return h.costOfOneWay(t, i, cause)
	}
	return 0
}

// isOnlyUp reports whether no link from a node's leaf to another switch than its own stalls.
func (t *nodes) isOnlyUp(i nodeID) bool {
	return !slices.ContainsFunc(t.leaving.of(t.from[i]), func(j nodeID) bool { return t.to[j] != t.to[i] && !t.toHost(j) })
}

// costOfOneWay is what it costs that of a leaf's uplinks that lead to a cause only those to one switch stall, though traffic
// takes all of them: each host that waits, or if none does the leaf, would have to take these by chance.
func (h *shares) costOfOneWay(t *trees, i nodeID, cause causeID) float64 {
	leaf, own := t.from[i], t.stalledUp(t.from[i])
	ways := own
	for _, l := range t.waits.out.of(leaf) {
		leads := func(j nodeID) bool { return h.of[j].has(cause) && t.waits.mayWait(l, t.links[j]) }
		if t.waits.isUp(l) && t.node[l] < 0 && t.values[l] >= 0 && slices.ContainsFunc(t.leaving.of(t.waits.to[l]), leads) {
			ways++
		}
	}
	return float64(max(1, t.stalledHosts(leaf))) * costOf(float64(own)/float64(ways))
}
