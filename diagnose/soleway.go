package diagnose

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Of a link of a grid that lost rate, where the stall before it ends. A link that is merely starved, as what feeds it is
// held up elsewhere, is one of several: what is held up would have gone on over all of them.
const (
	// endStall is the least stall, percent, of a link that waits for one which lost rate.
	endStall = 50
	// soleShare of what all ways on from there lost since the onset is one link's.
	soleShare = .8
	// soleInput is the least that it lost, of what the stalled links at the switch did: that is where this went.
	soleInput = .5
	// soleUse is the least that it carries still, and soleLost the least that it lost, percent of its capacity: packets
	// always wait for it, so that it carries all that its lanes let it, of which one in four is left at least.
	soleUse, soleLost = 20, 15
	// soleIntervals is over how many intervals, since the onset, stall and load are averaged: in one of them another link
	// may lose as much by chance.
	soleIntervals = 4
)

// soleWays finds the link that lost rate before which a region of a grid ends.
type soleWays struct {
	*gridLinks
	p          *pressure
	use, stall *levels
	from, now  int64 // slots that are averaged
}

// soleWay is the link before which a region ends: links stall into a switch, none that they may wait for stalls, and one of
// these alone carries clearly less than before the onset. Of several it is the one that lost most.
func (s *Stage) soleWay(rc *regionCase, p *pressure) neck {
	best, most := neck{link: schema.NoLink}, 0.
	w := soleWays{gridLinks: s.router.grid, p: p, use: s.memory.metrics[schema.BandwidthUsed], now: s.clock.now}
	if p.stall == nil || w.use == nil || rc.onset < 0 {
		return best
	}
	w.stall = s.memory.metrics[p.stall.Metric]
	w.from = s.clock.now - int64(min(soleIntervals, len(rc.stall)-rc.onset)) + 1
	for _, l := range rc.region.Links {
		if w.keys[l].dim < 0 || w.stallOf(l) < endStall {
			continue
		}
		from, to := w.graph.Ends(l)
		for _, via := range [2]topology.DeviceID{from, to} {
			out := w.soleLoser(l, via)
			if out == schema.NoLink {
				continue
			}
			lost := w.lostOn(out)
			if lost >= soleInput*w.lostInto(via) && (lost > most || lost == most && out < best.link) {
				most = lost
				best = neck{link: out, tail: via, waits: p.waitsFor(out), lost: 1 - w.useOf(out)/p.before(out), slower: true, sole: true}
			}
		}
	}
	return best
}

// soleLoser is the one link that carries clearly less than before the onset, of those over which what a link brings to a
// switch goes on, or NoLink: if one of them stalls or is not known, or others lost load, too.
func (w *soleWays) soleLoser(l schema.LinkID, via topology.DeviceID) schema.LinkID {
	sole, most, all := schema.NoLink, 0., 0.
	for _, out := range w.graph.LinksAt(via) {
		if out == l || w.keys[out].dim < w.keys[l].dim {
			continue
		}
		if w.stallOf(out) > neckStall || w.useOf(out) < 0 || w.p.before(out) < 0 {
			return schema.NoLink
		}
		lost := w.lostOn(out)
		if all += lost; lost > most {
			sole, most = out, lost
		}
	}
	if sole == schema.NoLink || most < soleShare*all {
		return schema.NoLink
	}
	if was, is := w.p.before(sole), w.useOf(sole); is >= clearlyLess*was || is < soleUse || was-is < soleLost {
		return schema.NoLink
	}
	return sole
}

// lostInto is how much less than before the onset the stalled links at a switch carry, bytes/s.
func (w *soleWays) lostInto(via topology.DeviceID) (lost float64) {
	for _, l := range w.graph.LinksAt(via) {
		if w.stallOf(l) >= endStall {
			lost += w.lostOn(l)
		}
	}
	return lost
}

// lostOn is how much less than before the onset a link carries, bytes/s; 0 if that is not known.
func (w *soleWays) lostOn(l schema.LinkID) float64 {
	was, is := w.p.before(l), w.useOf(l)
	if was < 0 || is < 0 {
		return 0
	}
	return max(0, was-is) / 100 * w.graph.Capacity(l)
}

// useOf and stallOf are means over the intervals, percent; -1 if none was measured.
func (w *soleWays) useOf(l schema.LinkID) float64   { return w.use.over(w.from, w.now, l) }
func (w *soleWays) stallOf(l schema.LinkID) float64 { return w.stall.over(w.from, w.now, l) }
