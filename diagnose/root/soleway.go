package root

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Of a link of a grid that lost rate, where the stall before it ends. A link that is merely starved, as what feeds it is
// held up elsewhere, is one of several: what is held up would have gone on over all of them. Percents are of
// what one direction shows (oneWay).
const (
	// endStall is the least stall, percent, of a link that waits for one which lost rate.
	endStall = 50
	// soleShare of what all ways on from there lost since the onset is one link's.
	soleShare = .8
	// soleInput is the least that it lost, of what the stalled links at the switch did: that is where this went.
	soleInput = .5
	// soleLost is the least that it lost, percent of its capacity. It still carries leastRate.
	soleLost = 15
)

// soleWay is the link before which a region ends: links stall into a switch, none that they may wait for stalls, and one of
// these alone carries clearly less than before the onset. Most of the region leads there. Of several it is the one that lost most.
func (p *Pressure) soleWay(links []schema.LinkID) Neck {
	best, most := Neck{Link: schema.NoLink}, 0.
	for _, l := range links {
		if _, s := p.shows(l); s.dim < 0 || s.stall < endStall*p.oneWay {
			continue
		}
		from, to := p.graph.Ends(l)
		for _, via := range [2]topology.DeviceID{from, to} {
			out := p.soleLoser(l, via)
			if out == schema.NoLink {
				continue
			}
			_, s := p.shows(out)
			if s.lost >= soleInput*p.lostInto(via) && (s.lost > most || s.lost == most && out < best.Link) && p.reaches(links, out, via) >= mostReaches {
				most = s.lost
				best = Neck{Link: out, Tail: via, Waits: p.waitsFor(out), Lost: 1 - s.left(), Slower: true, Sole: true}
			}
		}
	}
	return best
}

// soleLoser is the one link that carries clearly less than before the onset, of those over which what a link brings to a
// switch goes on, or NoLink: if one of them stalls or is not known, or others lost load, too.
func (p *Pressure) soleLoser(l schema.LinkID, via topology.DeviceID) schema.LinkID {
	_, in := p.shows(l)
	dim, sole, most, all := in.dim, schema.NoLink, 0., 0.
	for _, out := range p.graph.LinksAt(via) {
		_, s := p.shows(out)
		if out == l || s.dim < dim {
			continue
		}
		if s.stall > neckStall || s.use < 0 || s.before < 0 {
			return schema.NoLink
		}
		if all += s.lost; s.lost > most {
			sole, most = out, s.lost
		}
	}
	if sole == schema.NoLink || most < soleShare*all {
		return schema.NoLink
	}
	if _, s := p.shows(sole); s.left() >= ClearlyLess || s.use < leastRate*p.oneWay || s.before-s.use < soleLost*p.oneWay {
		return schema.NoLink
	}
	return sole
}

// lostInto is how much less than before the onset the stalled links at a switch carry, bytes/s.
func (p *Pressure) lostInto(via topology.DeviceID) (lost float64) {
	for _, l := range p.graph.LinksAt(via) {
		if _, s := p.shows(l); s.stall >= endStall*p.oneWay {
			lost += s.lost
		}
	}
	return lost
}
