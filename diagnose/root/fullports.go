package root

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// mostLoaded replaces a full port up a tree by the full up port of the switch with the highest load before the onset: traffic may
// take any of them, and added load is spread over them, so that this one is overloaded most.
func (w *walk) mostLoaded(at topology.DeviceID, port schema.LinkID) schema.LinkID {
	if port == schema.NoLink || w.UseOf(port) < FullPort {
		return port
	}
	if !w.leadsUp(port) {
		return port
	}
	best := port
	for _, l := range w.known {
		if from, _ := w.graph.Ends(l); from == at && w.leadsUp(l) && w.UseOf(l) >= FullPort && w.Before(l) > w.Before(best) {
			best = l
		}
	}
	return best
}

// leadsUp reports whether a link leads to a higher level of a tree.
func (p ports) leadsUp(l schema.LinkID) bool {
	from, to := p.graph.Ends(l)
	u, v := p.graph.Device(from).Level, p.graph.Device(to).Level
	return u >= 0 && v > u
}
