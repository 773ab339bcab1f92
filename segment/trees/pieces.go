package trees

import (
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
)

// pieces finds what of a region hangs together: over switches, by links that stall at least halfway to those that count, whatever
// they belong to, or that are not measured. Back pressure does not pass links that are calm.
type pieces struct {
	sets linkset.UnionFind // devices
	size []int32           // by set: nodes of the region that drop is at; one of a host counts for a piece that stays
	kept []int32           // nodes
}

// find finds the sets of switches of a snapshot.
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

// drop returns the nodes of a region without pieces of fewer than FewestLinks, none of a host, that do not hang together with a
// larger one. Hosts also wait for ports that are full and so do not stall. It returns all if fewer than least would be left.
func (p *pieces) drop(t *trees, nodes []int32, least int) []int32 {
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

// setOf is the set of the switch, or switches, at the ends of a node's link.
func (p *pieces) setOf(t *trees, i int32) int32 {
	if d := t.from[i]; t.waits.isSwitch[d] {
		return p.sets.Find(d)
	}
	return p.sets.Find(t.to[i])
}
