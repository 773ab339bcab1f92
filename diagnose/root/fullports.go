package root

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// mostLoaded replaces a full port up a tree by the full up port of the switch with the highest load before the onset: traffic may
// take any of them, and added load is spread over them, so that this one is overloaded most.
func (p *Pressure) mostLoaded(at topology.DeviceID, port schema.LinkID) schema.LinkID {
	if port == schema.NoLink || p.UseOf(port) < FullPort {
		return port
	}
	if !p.leadsUp(port) {
		return port
	}
	best := port
	for _, l := range p.ends.known {
		if from, _ := p.graph.Ends(l); from == at && p.leadsUp(l) && p.UseOf(l) >= FullPort && p.Before(l) > p.Before(best) {
			best = l
		}
	}
	return best
}

// leadsUp reports whether a link leads to a higher level of a tree.
func (p *Pressure) leadsUp(l schema.LinkID) bool {
	from, to := p.graph.Ends(l)
	u, v := p.graph.Device(from).Level, p.graph.Device(to).Level
	return u >= 0 && v > u
}
