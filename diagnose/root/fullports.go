package root

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// mostHeld sorts the switches at which leadingShare of a region's stall ends by what waits there for their own ports, bytes/s: what
// their inputs hold back, less what their ports do for what is behind them.
func (p *Pressure) mostHeld(ends []atSwitch, total float64) []atSwitch {
	n := 0
	for n < len(ends) && ends[n].stall >= leadingShare*total {
		n++
	}
	slices.SortStableFunc(ends[:n], func(a, b atSwitch) int { return cmp.Compare(b.most*p.heldAt(b.device), a.most*p.heldAt(a.device)) })
	return ends[:n]
}

// heldAt is what waits at a switch for its own ports, bytes/s.
func (p *Pressure) heldAt(d topology.DeviceID) float64 {
	x := p.excessOf(d)
	return x.inputs - x.behind
}

// mostLoaded is, of the full ports of a switch that lead up, which its traffic may take alike, the one that carried most before
// the onset: what is added is spread over them, so that there most is too much.
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
