package root

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// slowCable is the port of a switch, towards another, whose cable lost rate by what waits at both of its ends; NoLink
// if none did.
func (w *walk) slowCable(at topology.DeviceID) schema.LinkID {
	if x := w.excessAt(at); x.searched {
		return x.slow
	}
	slow := w.findSlowCable(at)
	x := w.excessAt(at)
	x.searched, x.slow = true, slow
	return slow
}

// findSlowCable searches for it.
func (p ports) findSlowCable(at topology.DeviceID) schema.LinkID {
	slow, least := schema.NoLink, ClearlyLess
	links := p.graph.LinksAt(at)
	allBlocked := !slices.ContainsFunc(links, func(in schema.LinkID) bool {
		over := p.hopOver(in)
		return over.via == at && p.StallOf(in) >= stalledPercent && !p.isBlocked(&over, schema.NoLink)
	})
	for _, l := range links {
		if allBlocked && !p.blocks(l) {
			continue // no input waits for this port only, which canSend asks for
		}
		if from, to := p.graph.Ends(l); from != at || !p.graph.IsSwitch(to) || p.StallOf(l) >= stalledPercent {
			continue
		}
		if sends := p.sendsBothWays(l); sends < least {
			slow, least = l, sends
		}
	}
	return slow
}

// sendsBothWays is the share of its capacity that a cable can send in either direction, the more of the two. Where a
// switch is full of traffic that waits for one port, its other ports send less, too, and seem to be slow. Of these only
// a slow cable also holds up the switch at its other end, by its other direction: what lost rate is the cable.
func (p ports) sendsBothWays(l schema.LinkID) float64 {
	sends := p.canSend(l)
	if sends >= ClearlyLess {
		return 1
	}
	back := p.backOf(l)
	if back == schema.NoLink {
		return 1
	}
	return max(sends, p.canSend(back))
}

// backOf is the other direction of a cable, NoLink if it has none. Several cables may join two switches: it is on the
// same ports.
func (p ports) backOf(l schema.LinkID) schema.LinkID {
	link := p.graph.Link(l)
	for _, back := range p.graph.LinksAt(link.From) {
		b := p.graph.Link(back)
		if b.From == link.To && b.To == link.From && b.FromPort == link.ToPort && b.ToPort == link.FromPort {
			return back
		}
	}
	return schema.NoLink
}

// heldAtBothEnds is the slow cable for which at least rootShare of a region's stall waits at its two ends together,
// with that share; NoLink if there is none.
func (w *walk) heldAtBothEnds(ends []atSwitch, total float64) (cable schema.LinkID, share float64) {
	for i := range ends {
		if ends[i].stall < leadingShare*total {
			break
		}
		slow := w.slowCable(ends[i].device)
		if slow == schema.NoLink || ends[i].device != ends[i].host {
			continue
		}
		_, to := w.graph.Ends(slow)
		stall := ends[i].stall
		if j := slices.IndexFunc(ends, func(a atSwitch) bool { return a.host == to }); j >= 0 {
			stall += ends[j].stall
		}
		if stall >= rootShare*total {
			return slow, stall / total
		}
	}
	return schema.NoLink, 0
}
