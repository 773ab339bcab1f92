package root

import (
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// onLine caches the readings of a line of the last dimension in which a region's traffic travels, for all switches of
// the line that are tried as its end.
type onLine struct {
	line  routes.Line // through any of its switches, if there are stops
	stops []stop      // of the region, by index on the line, twice, so that once round from any switch is a slice
}

// stop is a switch of a line and the link to the next one.
type stop struct {
	device  topology.DeviceID
	link    schema.LinkID // NoLink where the line ends
	stall   float64       // of the link, percent; -1 if there is none
	carries float64       // load of the link, bytes/s
	added   float64       // load added to it, bytes/s
	waits   float64       // traffic that waits on it, bytes/s (waitsOn)
	beside  float64       // the same for the switch's links of earlier dimensions
	ahead   float64       // stall of those beyond what is expected upstream of the link, percent (beyond)
	back    float64       // the same, upstream of the link from the switch before
}

// waitsOn is what a link carries in the share of time that it stalls, bytes/s.
func (r *reading) waitsOn() float64 { return r.carries * r.stall / 100 }

// lineFrom is the line once round from a switch.
func (g *regionReadings) lineFrom(end topology.DeviceID) []stop {
	o, line := &g.line, g.grid.Line(end, g.last)
	if len(o.stops) == 0 || !o.line.Has(end) {
		o.line, o.stops = line, o.stops[:0]
		for x := range line.Size {
			o.stops = append(o.stops, g.stopAt(&line, x-line.X))
		}
		o.stops = append(o.stops, o.stops...)
	}
	return o.stops[line.X:][:line.Size]
}

// stopAt is the stop steps further on from the line's own switch.
func (g *regionReadings) stopAt(line *routes.Line, steps int) stop {
	s := stop{device: line.Device(steps), link: line.Link(steps, 1), stall: -1}
	if s.link != schema.NoLink {
		r := g.look(s.link)
		s.stall, s.carries, s.added, s.waits = r.stall, r.carries, r.added, r.waitsOn()
	}
	before := -1.
	if l := line.Link(steps-1, 1); l != schema.NoLink {
		before = g.look(l).stall
	}
	for _, l := range g.p.graph.LinksAt(s.device) {
		if r := g.look(l); r.dim >= 0 && r.dim < g.last {
			s.beside += r.waitsOn()
			s.ahead += beyond(r.stall, s.stall)
			s.back += beyond(r.stall, before)
		}
	}
	return s
}

// beyond is the stall of a link, percent, beyond the share upstream of the stall of another.
func beyond(stall, of float64) float64 { return max(0, stall-upstream*of) }

// linkOn is the link n links from the first switch of a line, forward or back.
func linkOn(line []stop, n, step int) *stop {
	if step < 0 {
		return &line[len(line)-1-n]
	}
	return &line[n]
}

// switchOn is the switch n links from the first switch of a line, forward or back.
func switchOn(line []stop, n, step int) *stop {
	if step < 0 {
		return &line[len(line)-n]
	}
	return &line[n]
}

// shareAt is the share of the traffic at the switch n links from the first one that goes to it one way: half at the
// farthest, which is equally far both ways.
func shareAt(line []stop, n int) float64 {
	if 2*n == len(line) {
		return .5
	}
	return 1
}

// stalledOn counts the consecutive stalled links from the first switch of a line, at most as many as a route along it
// has.
func stalledOn(line []stop, step int, least float64) (n int) {
	for n < len(line)/2 && linkOn(line, n, step).stall >= least {
		n++
	}
	return n
}
