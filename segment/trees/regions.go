package trees

import (
	"math"

	"github.com/giverny/giverny/segment/trees/backpressure"
)

// emit makes a group of each large enough cause and finds its root, then groups the rest. A cause of few links counts
// if it has a root and is not beside a region; else it is part of that or of the rest.
func (m *Method) emit() {
	least, p := m.leastLinks(), &m.patches
	p.begin(len(m.Links))
	if m.minLinks > 0 {
		m.takeCauses(least, math.MaxInt)
	} else {
		m.takeCauses(max(least, FewestLinks), math.MaxInt)
		m.takeCauses(least, FewestLinks)
	}
	p.find(m)
	p.emit(m)
}

// takeCauses makes regions of the causes with at least least and fewer than most links.
func (m *Method) takeCauses(least, most int) {
	s, p := &m.shares, &m.patches
	for cause := range s.members.Keys() {
		members := s.members.Of(cause)
		if len(members) < least || len(members) >= most || !m.isCohesive(members) {
			continue
		}
		r := m.rootOf(cause)
		if most == FewestLinks && (m.rootOfPatch(members).Device == backpressure.NoDevice || p.areBeside(&m.trees, members)) {
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
	n := float64(len(m.Node))
	p := max(leastLoneShare, float64(m.sinks.lone)/n)
	growth := p * m.branches
	if growth >= 1 {
		return MostLeastLinks
	}
	k := 1 + math.Log(FalseRegionsPerDay/(intervalsPerDay*n*p))/math.Log(growth)
	return max(FewestWithRoot, min(MostLeastLinks, int(math.Ceil(k))))
}
