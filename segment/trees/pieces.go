package trees

import (
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
)

// pieces finds the connected pieces of a region: over links between switches that are unmeasured, or stall at least
// halfway to what counts, whatever they belong to. Back pressure does not pass calm links.
type pieces struct {
	sets unionFind[deviceID]
	size by[deviceID, int32] // by set: nodes of the region in drop; one from a host weighs enough to keep its piece
	kept []nodeID            // nodes
}

// find finds the connected sets of a snapshot's switches.
func (p *pieces) find(t *trees) {
	w := t.waits
	p.sets.Reset(len(t.seen))
	p.size = scratch.Slice(p.size, len(t.seen))
	clear(p.size)
	for l, v := range t.values {
		if (v >= t.idle || v == linkset.Missing) && w.isSwitch[w.from[l]] && w.isSwitch[w.to[l]] {
			p.sets.Union(w.from[l], w.to[l])
		}
	}
}

// drop returns the nodes of a region without pieces smaller than FewestLinks, unless one has a link from a host or is
// the largest. Hosts also wait for ports that are full and so do not stall. It returns all nodes if fewer than least
// would remain.
func (p *pieces) drop(t *trees, nodes []nodeID, least int) []nodeID {
	most := int32(0)
	for _, i := range nodes {
		set := p.setOf(t, i)
		if p.size[set]++; t.fromHost(i) {
			p.size[set] += FewestLinks
		}
		most = max(most, p.size[set])
	}
	p.kept = p.kept[:0]
	for _, i := range nodes {
		if p.size[p.setOf(t, i)] >= min(most, FewestLinks) {
			p.kept = append(p.kept, i)
		}
	}
	for _, i := range nodes {
		p.size[p.setOf(t, i)] = 0
	}
	if len(p.kept) < least {
		return nodes
	}
	return p.kept
}

// setOf is the set of the switches at the ends of a node's link.
func (p *pieces) setOf(t *trees, i nodeID) deviceID {
	if d := t.from[i]; t.waits.isSwitch[d] {
		return p.sets.Find(d)
	}
	return p.sets.Find(t.to[i])
}
