package root

import "github.com/giverny/giverny/topology"

// IsFlooded reports whether load was added where the traffic of a region on a grid ends. Full buffers hold up other
// traffic over the same links, so that a region may carry less in total although load causes it: the added load shows
// on some of its links, or more arrives at the switch where it ends. A slow host lets less arrive.
func (p *Pressure) IsFlooded(d *Drain, end topology.DeviceID) bool {
	return d.Grew || d.Meeting.Grew || p.Arrives(end) > SteadyLoad
}

// leastArrives, percent of a link's capacity, is added to both loads, so that ratios of small ones say little.
const leastArrives = .2

// Arrives is the load of the links of the switch where a region's traffic ends, relative to before the onset; 0 if not
// known.
func (p *Pressure) Arrives(end topology.DeviceID) float64 {
	now, before := 0., 0.
	for _, l := range p.graph.LinksAt(end) {
		if was := p.Before(l); was >= 0 && p.UseOf(l) >= 0 {
			c := p.graph.Capacity(l) / 100
			now += (p.UseOf(l) + leastArrives) * c
			before += (was + leastArrives) * c
		}
	}
	if before == 0 {
		return 0
	}
	return now / before
}

// ArrivesMore is the load added since the onset on the links of the switch where a region's traffic ends, bytes/s: its
// senders move at least part of it.
func (p *Pressure) ArrivesMore(end topology.DeviceID) (more float64) {
	for _, l := range p.graph.LinksAt(end) {
		added, _ := p.Added(l)
		more += max(0, added)
	}
	return more
}

// ArrivesInAll is the load of the links of the switch where a region's traffic ends, bytes/s.
func (p *Pressure) ArrivesInAll(end topology.DeviceID) (all float64) {
	for _, l := range p.graph.LinksAt(end) {
		all += p.Carries(l)
	}
	return all
}
