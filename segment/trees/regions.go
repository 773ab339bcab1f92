package trees

import (
	"math"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
)

// emit makes a group of each large enough cause and finds its root, then groups the rest. A cause of few links counts
// if it has a root and is not beside a region; else it is part of that or of the rest.
func (m *Method) emit(out *linkset.Groups) {
	least, p := m.leastLinks(), &m.patches
	p.begin(len(m.links))
	if m.minLinks > 0 {
		m.takeCauses(least, math.MaxInt)
	} else {
		m.takeCauses(max(least, FewestLinks), math.MaxInt)
		m.takeCauses(least, FewestLinks)
	}
	p.find(m)
	p.emit(m, out)
}

// takeCauses makes regions of the causes with at least least and fewer than most links.
func (m *Method) takeCauses(least, most int) {
	s, p := &m.shares, &m.patches
	for cause := range s.members.keys() {
		members := s.members.of(cause)
		if len(members) < least || len(members) >= most || !m.isCohesive(members) {
			continue
		}
		r := m.rootOf(cause)
		if most == FewestLinks && (m.rootOfPatch(members).device == noDevice || p.areBeside(&m.trees, members)) {
			continue
		}
		p.take(m, members, r)
	}
}

const (
	// FalseRegionsPerDay is how many regions per day chance may make, with one interval per minute and lone hot links
	// anywhere.
	FalseRegionsPerDay = .1
	intervalsPerDay    = 1440
	FewestWithRoot     = 4    // links of the smallest region: with a root and away from others
	FewestLinks        = 6    // links that count even beside other regions
	MostLeastLinks     = 8    // so that an incast of eight hosts counts on every fabric
	leastLoneShare     = 1e-5 // of links assumed hot alone if none is: its logarithm is needed
)

// leastLinks is the size from which a region counts. If a share p of N links is hot by chance, so are p*d of the d
// neighbours of a hot link: N*p*(p*d)^(k-1) chains of k links are expected.
func (m *Method) leastLinks() int {
	if m.minLinks > 0 {
		return m.minLinks
	}
	n := float64(len(m.node))
	p := max(leastLoneShare, float64(m.sinks.lone)/n)
	growth := p * m.branches
	if growth >= 1 {
		return MostLeastLinks
	}
	k := 1 + math.Log(FalseRegionsPerDay/(intervalsPerDay*n*p))/math.Log(growth)
	return max(FewestWithRoot, min(MostLeastLinks, int(math.Ceil(k))))
}

// keep keeps the groups, with their roots, for which keeps holds.
func (m *Method) keep(out *linkset.Groups, keeps func(g int, links []schema.LinkID) bool) {
	links, groups, begin := 0, 0, int32(0)
	for g, end := range out.Ends {
		if group := out.Links[begin:end]; keeps(g, group) {
			links += copy(out.Links[links:], group)
			out.Ends[groups], m.roots[groups] = int32(links), m.roots[g]
			groups++
		}
		begin = end
	}
	out.Links, out.Ends, m.roots = out.Links[:links], out.Ends[:groups], m.roots[:groups]
}
