package trees

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/trees/index"
)

// emit appends the regions and patches as groups, with their roots.
func (p *patches) emit(m *Method) {
	out := &m.regions
	least := m.leastLinks()
	for set, all := range p.eachSet {
		first := len(out.Links)
		for _, j := range p.deadEnds.drop(&m.trees, all, p.all[set].root, least) {
			out.Links = append(out.Links, schema.LinkID(m.Links[j]))
		}
		slices.Sort(out.Links[first:])
		out.Links = out.Links[:first+len(slices.Compact(out.Links[first:]))] // joined regions may share links
		out.End(p.all[set].root)
	}
}

// eachSet ranges over the regions: each as a set of patches, with the nodes of all of these until the next one.
func (p *patches) eachSet(yield func(patchID, []index.Node) bool) {
	p.order = p.order[:0]
	for k := range p.all.Len() {
		p.order = append(p.order, k)
	}
	slices.SortStableFunc(p.order, func(a, b patchID) int { return cmp.Compare(p.sets.Find(a), p.sets.Find(b)) })
	for i := 0; i < len(p.order); {
		set := p.sets.Find(p.order[i])
		p.nodes = p.nodes[:0]
		for ; i < len(p.order) && p.sets.Find(p.order[i]) == set; i++ {
			p.nodes = append(p.nodes, p.nodesOf(&p.all[p.order[i]])...)
		}
		if !yield(set, p.nodes) {
			return
		}
	}
}
