package root

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// mostHeld returns the switches where at least leadingShare of a region's stall ends, sorted by the stall of their main port times
// the traffic that waits for their own ports.
func (p *Pressure) mostHeld(ends []atSwitch, total float64) []atSwitch {
	n := 0
	for n < len(ends) && ends[n].stall >= leadingShare*total {
		n++
	}
	slices.SortStableFunc(ends[:n], func(a, b atSwitch) int { return cmp.Compare(b.most*p.heldAt(b.device), a.most*p.heldAt(a.device)) })
	return ends[:n]
}

// heldAt is the traffic that waits at a switch for its own ports, bytes/s: what its inputs hold back, less what its ports hold back
// because of what is behind them.
func (p *Pressure) heldAt(d topology.DeviceID) float64 {
	x := p.excessOf(d)
	return x.inputs - x.behind
}

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
