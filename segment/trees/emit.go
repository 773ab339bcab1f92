package trees

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
)

// emit appends the regions and patches as groups, with their roots.
func (p *patches) emit(m *Method, out *linkset.Groups) {
	least := m.leastLinks()
	p.order = p.order[:0]
	for k := range p.all.len() {
		p.order = append(p.order, k)
	}
	slices.SortStableFunc(p.order, func(a, b patchID) int { return cmp.Compare(p.sets.Find(a), p.sets.Find(b)) })
	for i := 0; i < len(p.order); {
		first, set := len(out.Links), p.sets.Find(p.order[i])
		p.nodes = p.nodes[:0]
		for ; i < len(p.order) && p.sets.Find(p.order[i]) == set; i++ {
			x := &p.all[p.order[i]]
			p.nodes = append(p.nodes, p.left[x.begin:x.end]...)
		}
		nodes := p.deadEnds.drop(&m.trees, p.nodes, p.all[set].root, least)
		for _, j := range nodes {
			out.Links = append(out.Links, schema.LinkID(m.links[j]))
		}
		slices.Sort(out.Links[first:])
		out.Links = out.Links[:first+len(slices.Compact(out.Links[first:]))] // joined regions may share links
		out.Ends = append(out.Ends, int32(len(out.Links)))
		m.roots = append(m.roots, p.all[set].root)
	}
}
