package root

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// ports judges single ports of directed links by the readings around them.
type ports struct{ *Pressure }

// canSend is the share of its capacity that a port of directed links can send, bounded by what waits for it: while an
// input stalls because of the port, and nothing holds the port back, it sends at its rate. It is 1 if nothing shows
// that it is slow.
func (p ports) canSend(port schema.LinkID) float64 {
	use, waits := p.UseOf(port), p.waitFor(port)
	if waits == 0 || use < LeastUse || use >= FullPort || p.isStale(port) {
		return 1
	}
	return min(1, use/max(use, waits-p.StallOf(port)))
}

// sendsAtMost is the share of its capacity that a port can send by what waits for it. Where nodes are hidden, inputs may
// wait for these, so what waits at the other end of the cable has to show the same.
func (p ports) sendsAtMost(port schema.LinkID) float64 {
	if p.grid != nil {
		return p.sendsBothWays(port)
	}
	return p.canSend(port)
}

// waitFor is the stall, percent, of the inputs of a switch that only wait for a port: their mean, weighted by stall; 0
// without any.
func (p ports) waitFor(port schema.LinkID) float64 {
	at, _ := p.graph.Ends(port)
	stalls, squares := 0., 0.
	for _, l := range p.graph.LinksAt(at) {
		if stall := p.StallOf(l); stall >= stalledPercent && p.onlyWaitsFor(l, port) {
			stalls, squares = stalls+stall, squares+stall*stall
		}
	}
	if stalls == 0 {
		return 0
	}
	return squares / stalls
}

// onlyWaitsFor reports whether a link into a switch may wait for a port, and for no other port that blocks.
func (p ports) onlyWaitsFor(l, port schema.LinkID) bool {
	over := p.hopOver(l)
	return p.mayFollow(&over, port) && !p.isBlocked(&over, port)
}

// isBlocked reports whether traffic over a hop may wait for a port that blocks, other than the given one.
func (p ports) isBlocked(over *hop, other schema.LinkID) bool {
	return slices.ContainsFunc(p.graph.LinksAt(over.via), func(out schema.LinkID) bool {
		return out != other && p.blocks(out) && p.mayFollow(over, out)
	})
}

// blocks reports whether a port stalls or is nearly full.
func (p ports) blocks(port schema.LinkID) bool {
	return p.StallOf(port) >= stalledPercent || p.UseOf(port) >= fullPercent
}

// slowest is the port of a switch whose use fell clearly since the onset. It is one that nearly all traffic held back
// by the inputs may wait for: first a port with a constant load since, then one whose cable carries the same the other
// way, then the one that lost most, as a smaller load may just have ended. Traffic from a neighbour does not wait for
// the port back there, so that if it waits too, another port is the slow one.
func (p ports) slowest(at topology.DeviceID, links []schema.LinkID) schema.LinkID {
	slow, most, sure := schema.NoLink, 0., 0
	all := p.mayWaitFor(at, schema.NoLink)
	for _, l := range p.graph.LinksAt(at) {
		from, _ := p.graph.Ends(l)
		if from != at || p.StallOf(l) >= stalledPercent || p.UseOf(l) < LeastUse && !p.isCableSlow(l) ||
			!p.entered(at, l, links) {
			continue // a port that traffic waits for sends
		}
		lostRate := p.left(l) < ClearlyLess || p.isFlat(l) && p.canSend(l) < ClearlyLess || p.isCableSlow(l)
		if !lostRate || p.mayWaitFor(at, l) < nearlyAll*all {
			continue
		}
		if lost, like := -p.gained(l), p.likeSlow(l); like > sure || like == sure && lost > most {
			slow, most, sure = l, lost, like
		}
	}
	return slow
}

// nearlyAll is the share of what a switch's inputs hold back that must possibly wait for a port for it to be the slow
// one.
const nearlyAll = .9

// mayWaitFor sums up the traffic held back by the inputs of a switch that may wait for a port, bytes/s; for any port
// with NoLink.
func (p ports) mayWaitFor(at topology.DeviceID, port schema.LinkID) (sum float64) {
	for _, l := range p.graph.LinksAt(at) {
		_, to := p.graph.Ends(l)
		if to == at && p.StallOf(l) >= stalledPercent && (port == schema.NoLink || p.mayWait(l, port)) {
			sum += p.heldBackOr(l)
		}
	}
	return sum
}

// loaded reports whether traffic waits because of load on a port, rather than for another port of the switch that
// carries less than before: the port is full; or it gained more than the other lost and sends whenever inputs stall,
// and the other's cable is not slow.
func (p ports) loaded(port, slow schema.LinkID) bool {
	return p.UseOf(port) >= FullPort ||
		p.gained(port) >= -p.gained(slow) && p.canSend(port) >= ClearlyLess && !p.isCableSlow(slow)
}

// sameRate is the least ratio of the loads of a cable's two directions if each carries all that the cable lets it.
const sameRate = .9

// likeSlow is how much the load of a link since the onset is like that of a cable that lost rate: 2 constant, 1 clearly
// less than before in both directions and the same in both, as a rate limits both alike, else 0.
func (p ports) likeSlow(l schema.LinkID) int {
	switch {
	case p.isFlat(l):
		return 2
	case p.left(l) < ClearlyLess &&
		p.anyBack(l, justSame, func(back schema.LinkID) bool { return p.left(back) < ClearlyLess }):
		return 1
	}
	return 0
}

// justSame is sameRate of a single interval, in which loads are the same by chance more often than in several.
const justSame = .95

// anyBack reports whether a link leads back between the ends of another, of which a condition holds and whose load is
// the same, to the given ratio.
func (p ports) anyBack(l schema.LinkID, same float64, holds func(back schema.LinkID) bool) bool {
	from, to := p.graph.Ends(l)
	return slices.ContainsFunc(p.graph.LinksAt(from), func(back schema.LinkID) bool {
		a, b := p.graph.Ends(back)
		return a == to && b == from && holds(back) &&
			min(p.UseOf(l), p.UseOf(back)) >= same*max(p.UseOf(l), p.UseOf(back))
	})
}

// isCableSlow reports whether a cable lost rate: both directions carry the same constant load since the onset, and one
// of them clearly less than before. A change of load does not limit both alike.
func (p ports) isCableSlow(l schema.LinkID) bool {
	use := p.UseOf(l)
	return use > 0 && use < fullPercent && p.isFlat(l) && p.anyBack(l, sameRate, func(back schema.LinkID) bool {
		return p.isFlat(back) && min(p.left(l), p.left(back)) < ClearlyLess
	})
}
