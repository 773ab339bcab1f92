package root

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// slowItself reports whether a link between switches that stalls lost rate itself: some counters also count the time in
// which data waits because the link is busy. It lost clearly more load than any port behind it, so none of them holds
// back all that waits. A receiver that takes too little stalls its port, so a host's port explains the stall only if
// others wait for it as well.
func (p ports) slowItself(l schema.LinkID) bool {
	_, via := p.graph.Ends(l)
	if !p.graph.BetweenSwitches(l) || p.UseOf(l) < LeastUse || p.left(l) >= ClearlyLess ||
		p.besideLost(l, via) {
		return false
	}
	return !slices.ContainsFunc(p.graph.LinksAt(via), func(out schema.LinkID) bool {
		if !p.mayGoOn(l, out) || p.lost(out) < ClearlyLess*p.lost(l) {
			return false
		}
		_, to := p.graph.Ends(out)
		return p.graph.IsSwitch(to) || p.lostTheSame(l, out) || p.othersWaitFor(out, l)
	})
}

// othersWaitFor reports whether a link into a switch other than the given one stalls and can only wait for a port.
func (p ports) othersWaitFor(port, other schema.LinkID) bool {
	at, _ := p.graph.Ends(port)
	return slices.ContainsFunc(p.graph.LinksAt(at), func(in schema.LinkID) bool {
		return in != other && p.StallOf(in) >= stalledPercent && p.onlyWaitsFor(in, port)
	})
}

// besideLost reports whether another link into a switch stalls like the given one and lost load, too. Cables
// seldom lose rate together, so both wait for what is behind the switch.
func (p ports) besideLost(l schema.LinkID, via topology.DeviceID) bool {
	return slices.ContainsFunc(p.graph.LinksAt(via), func(in schema.LinkID) bool {
		_, to := p.graph.Ends(in)
		return in != l && to == via && p.StallOf(in) >= max(stalledPercent, passesOn*p.StallOf(l)) &&
			p.left(in) < ClearlyLess
	})
}

// lostTheSame reports whether a port lost what a link into its switch lost, and the rest of the link's traffic hardly
// any: a link that lost rate holds up all of its traffic.
func (p ports) lostTheSame(l, out schema.LinkID) bool {
	before := p.Before(l)*p.graph.Capacity(l) - p.Before(out)*p.graph.Capacity(out)
	now := p.UseOf(l)*p.graph.Capacity(l) - p.UseOf(out)*p.graph.Capacity(out)
	return before >= LeastUse*p.graph.Capacity(l) && now >= ClearlyLess*before
}
