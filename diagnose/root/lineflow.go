package root

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// clearlyOff is by how much more of the load added on a line must violate the conservation of flow for one switch than
// for another for it not to end at the first: what noise, and nodes at the line that send, can cause is half of it.
const clearlyOff = .2

// rateFlow rates the switches of a line, if load was added on the region, by the share of the load added there that
// violates the conservation of flow if all of it goes to them: unless that is much for the best one, too, as of an
// exchange, which ends at many.
func (e *endings) rateFlow(g *GridRegion) {
	least, most := 0., 1.
	for i := range e.line {
		p := &e.line[i]
		line := g.lineFrom(p.device)
		p.off, most = g.offFlow(line), max(most, g.brought(line))
		if i == 0 || p.off < least {
			least = p.off
		}
	}
	for i := range e.line {
		p := &e.line[i]
		if p.off = (p.off - least) / most; !g.grew || least >= clearlyOff*most {
			p.off = 0
		}
	}
}

// offFlow is the added load, bytes/s, that has no source or goes nowhere if all of it goes to the first switch of a
// line: at every other switch as much goes on along the line as came over the line and from those of its other links
// that are held up, and no more than also its free links can have brought. What nodes at the line send is off, too.
func (g *regionReadings) offFlow(line []stop) (off float64) {
	for _, step := range [2]int{1, -1} {
		came := 0.
		for n := len(line) / 2; n > 0; n-- {
			on := linkOn(line, n-1, step)
			if on.link == schema.NoLink {
				continue
			}
			held, free := g.addedBeside(switchOn(line, n, step).device)
			off += max(0, on.added-came-held-free) + max(0, came+held*shareAt(line, n)-on.added)
			came = on.added
		}
	}
	return off
}

// addedBeside is the load added to the links of a switch outside the last dimension, bytes/s: to those that are held up,
// and to the others.
func (g *regionReadings) addedBeside(at topology.DeviceID) (held, free float64) {
	for _, l := range g.p.graph.LinksAt(at) {
		switch r := g.look(l); {
		case r.dim < 0 || r.dim >= g.last:
		case r.stall >= g.least:
			held += r.added
		default:
			free += r.added
		}
	}
	return held, free
}

// brought is the load added to the links over which traffic comes to the first switch of a line, bytes/s.
func (g *regionReadings) brought(line []stop) float64 {
	held, _ := g.addedBeside(line[0].device)
	return held + linkOn(line, 0, 1).added + linkOn(line, 0, -1).added
}

// CannotEndAt reports whether some of the switches where the region's back pressure may end, if it ends at nodes, are
// chosen, and the load added on their line goes to none of these: Endings found such an end.
func (g *GridRegion) CannotEndAt(chosen func(topology.DeviceID) bool) (cannot bool) {
	g.check()
	for _, p := range g.endings.line {
		if chosen(p.device) {
			if p.off < clearlyOff {
				return false
			}
			cannot = true
		}
	}
	return cannot
}
