package trees

import (
	"slices"

	"github.com/giverny/giverny/schema"
)

const (
	// A fringe stalls at most fringeLevel times as much as a link must to count, and has at most a share of
	// 1/fringeFactor of the exchange's links; fringeShare of its own are at the exchange's switches.
	fringeLevel  = 3
	fringeFactor = 4
	fringeShare  = .5
)

// joinFringes joins a region without a receiver that stalls little with the large exchange at whose switches it is. The
// ports of an exchange fill unequally: where they stall just too little to count, the links that wait for them seem to
// wait for nothing of the exchange.
func (p *patches) joinFringes(m *Method) {
	for k := range p.all.len() {
		x := &p.all[k]
		if x.beside != noRegion || x.mean > fringeLevel*m.hot || m.isReceiver(x.root) {
			continue
		}
		if whole := p.exchangeAround(m, k); whole != noRegion {
			p.all[p.sets.Union(k, whole)].root = root{device: noDevice, link: schema.NoLink}
		}
	}
}

// exchangeAround is the large region without a root that has links at the switches of most links of region k; noRegion if
// there is none, or two have as many.
func (p *patches) exchangeAround(m *Method, k patchID) (best patchID) {
	x := p.all[k]
	p.votes = p.votes[:0]
	for _, i := range p.left[x.begin:x.end] {
		first := len(p.votes)
		for _, d := range [2]deviceID{m.from[i], m.to[i]} {
			for _, nodes := range [2][]nodeID{m.leaving.of(d), m.into.of(d)} {
				for _, j := range nodes {
					r := p.region[j]
					if r == noRegion || r == k || slices.Contains(p.votes[first:], r) {
						continue
					}
					if y := &p.all[r]; !m.isReceiver(y.root) && y.end-y.begin >= fringeFactor*(x.end-x.begin) {
						p.votes = append(p.votes, r)
					}
				}
			}
		}
	}
	slices.Sort(p.votes)
	best, most := noRegion, 0
	for i := 0; i < len(p.votes); {
		j := i
		for j < len(p.votes) && p.votes[j] == p.votes[i] {
			j++
		}
		if j-i > most {
			best, most = p.votes[i], j-i
		} else if j-i == most {
			best = noRegion
		}
		i = j
	}
	if float64(most) < fringeShare*float64(x.end-x.begin) {
		return noRegion
	}
	return best
}
