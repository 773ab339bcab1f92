package root

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// leastRate is the least that a link which lost rate still carries, percent of its capacity, of what one direction shows (oneWay):
// packets always wait for it, so that it carries all that its lanes let it, of which one in eight is left at least.
const leastRate = 10

// flatNeck is the link of a grid that lost rate by what it carries: as packets always wait for it, that is its rate, and the
// same in all intervals since the onset. Links that stall lead to it, most of the region in the end, and nothing that these may wait
// for stalls. Of several it is the one that lost most.
func (p *Pressure) flatNeck(links []schema.LinkID) Neck {
	best, most := Neck{Link: schema.NoLink}, 0.
	for _, l := range links {
		_, in := p.shows(l)
		if in.dim < 0 || in.stall < endStall*p.oneWay {
			continue
		}
		dim := in.dim
		from, to := p.graph.Ends(l)
		for _, via := range [2]topology.DeviceID{from, to} {
			for _, out := range p.graph.LinksAt(via) {
				_, s := p.shows(out)
				if out == l || s.dim < dim || s.lost <= most || s.use < leastRate*p.oneWay || s.left() >= ClearlyLess || !p.stallEndsAt(l, dim, via) || !p.isFlat(out) || p.reaches(links, out, via) < mostReaches {
					continue
				}
				most = s.lost
				best = Neck{Link: out, Tail: via, Waits: p.waitsFor(out), Lost: 1 - s.left(), Slower: true, Cannot: true, Sole: true}
			}
		}
	}
	return best
}

// stallEndsAt reports whether nothing stalls that what a link brings to a switch may wait for.
func (p *Pressure) stallEndsAt(l schema.LinkID, dim int, via topology.DeviceID) bool {
	for _, out := range p.graph.LinksAt(via) {
		if _, s := p.shows(out); out != l && s.dim >= dim && s.stall > neckStall {
			return false
		}
	}
	return true
}

// isFlat reports whether it is known that a link carried the same in the intervals since the onset.
func (p *Pressure) isFlat(l schema.LinkID) bool { return p.Flat != nil && p.Flat(l) }
