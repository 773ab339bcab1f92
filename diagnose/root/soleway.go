package root

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Thresholds for a link of a grid that lost rate where the stall upstream of it ends. A link that is merely starved,
// because its sources are held up elsewhere, is one of several: what is held up would have gone on over all of them.
// Percents are of one direction (inOneWay).
const (
	// endStall is the least stall, percent, of a link that waits for one which lost rate.
	endStall = 50
	// soleShare is the share of the loss since the onset on all ways on from there that one link must have.
	soleShare = .8
	// soleInput is the least it lost, relative to the loss of the stalled links at the switch: their traffic went
	// there.
	soleInput = .5
	// soleLost is the least it lost, percent of its capacity. leastRate is the least it still carries: packets always
	// wait for it, so that it carries all that its lanes let it, and at least one lane in eight remains.
	soleLost, leastRate = 15, 10
)

// soleWay is the link that a region ends at: links stall into a switch, none that they may wait for stalls, and one of
// these alone carries clearly less than before the onset. Most of the region leads there. Of several it is the one that
// lost most.
func (w *gridWalk) soleWay(links []schema.LinkID) Bottleneck {
	best, most := Bottleneck{Link: schema.NoLink}, 0.
	for _, l := range links {
		if _, s := w.shows(l); s.dim < 0 || w.inOneWay(s.stall) < endStall {
			continue
		}
		from, to := w.graph.Ends(l)
		for _, via := range [2]topology.DeviceID{from, to} {
			out := w.onlyLinkWithLess(l, via)
			if out == schema.NoLink {
				continue
			}
			_, s := w.shows(out)
			lostMore := s.lost > most || s.lost == most && out < best.Link
			if lostMore && s.lost >= soleInput*w.lostInto(via) && w.reaches(links, out, via) >= mostReaches {
				most = s.lost
				best = Bottleneck{Link: out, Tail: via, Waits: w.waitsFor(out), Lost: 1 - s.left(), Slower: true, Sole: true}
			}
		}
	}
	return best
}

// onlyLinkWithLess is the one link that carries clearly less than before the onset among those over which traffic of a
// link into a switch goes on. It is NoLink if one of them stalls or is not known, or if others lost load too.
func (w *gridWalk) onlyLinkWithLess(l schema.LinkID, via topology.DeviceID) schema.LinkID {
	_, in := w.shows(l)
	dim, sole, most, all := in.dim, schema.NoLink, 0., 0.
	for _, out := range w.graph.LinksAt(via) {
		_, s := w.shows(out)
		if out == l || s.dim < dim {
			continue
		}
		if s.stall > bottleneckStall || s.use < 0 || s.before < 0 {
			return schema.NoLink
		}
		if all += s.lost; s.lost > most {
			sole, most = out, s.lost
		}
	}
	if sole == schema.NoLink || most < soleShare*all {
		return schema.NoLink
	}
	_, s := w.shows(sole)
	if s.left() >= ClearlyLess || w.inOneWay(s.use) < leastRate || w.inOneWay(s.before-s.use) < soleLost {
		return schema.NoLink
	}
	return sole
}

// lostInto is the load lost since the onset by the stalled links at a switch, bytes/s.
func (w *gridWalk) lostInto(via topology.DeviceID) (lost float64) {
	for _, l := range w.graph.LinksAt(via) {
		if _, s := w.shows(l); w.inOneWay(s.stall) >= endStall {
			lost += s.lost
		}
	}
	return lost
}
