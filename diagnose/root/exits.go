package root

import (
	"math"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// excess is the traffic that the inputs and the ports of a switch hold back, bytes/s.
type excess struct {
	inputs float64 // held back by inputs
	known  float64 // held back by stalled ports with idle time, because of what is behind them
	most   float64 // use of the fullest port, percent of capacity
	open   int     // ports for which an unknown amount waits: full, or stalled with always something to send
	first  int     // its ports that traffic may wait for: found.exits[first:end]
	end    int
	slow   schema.LinkID // slowCable, once searched

	searched bool
}

// exit is a port that traffic may wait for: the same for all inputs of its switch.
type exit struct {
	way
	explains float64 // the highest stall of an input, percent, that it explains at a share of 1
}

// waysBy appends to the ways the ports that stall at least passes of what a link does, or are full, and returns these,
// except ports that have all their traffic from others.
func (w *walk) waysBy(over *hop, passes float64) []way {
	x := w.excessAt(over.via)
	first, least := len(w.ways), passes*w.StallOf(over.link)
	for i := range w.exits[x.first:x.end] {
		if out := &w.exits[x.first+i]; out.explains >= least && w.mayFollow(over, out.link) &&
			!w.takenByOthers(over, out) {
			w.ways = append(w.ways, out.way)
		}
	}
	return w.ways[first:]
}

// excessAt is excessOf, computed once for all regions with the same stalls and past (found). It is valid until that of
// another switch is computed.
func (w *walk) excessAt(d topology.DeviceID) *excess {
	at, isNew := w.extra.find(d)
	if isNew {
		x := w.excessOf(d)
		x.first = len(w.exits)
		w.listExits(d, &x)
		x.end = len(w.exits)
		w.extra.list[at] = x
	}
	return &w.extra.list[at]
}

// excessOf sums up what the inputs and ports of a switch hold back.
func (p ports) excessOf(d topology.DeviceID) (x excess) {
	for _, l := range p.graph.LinksAt(d) {
		if from, _ := p.graph.Ends(l); from != d {
			if p.StallOf(l) >= stalledPercent {
				x.inputs += p.heldBackOr(l)
			}
			continue
		}
		stalls, full, always := p.waiting(l)
		if full || p.UseOf(l) >= FullPort {
			x.most = max(x.most, p.UseOf(l))
		}
		switch {
		case full, stalls && always:
			x.open++
		case stalls:
			x.known += p.heldBackOr(l)
		}
	}
	return x
}

// listExits appends the ports of a switch that stall or are full, with the amount that waits for each as far as known.
func (w *walk) listExits(d topology.DeviceID, x *excess) {
	share := 0.
	if x.open > 0 {
		share = max(x.inputs-x.known, leastExcess*x.inputs) / float64(x.open)
	}
	for _, l := range w.graph.LinksAt(d) {
		if from, _ := w.graph.Ends(l); from != d {
			continue
		}
		stalls, full, always := w.waiting(l)
		if !stalls && !full {
			continue
		}
		out := exit{way{link: l, weight: w.heldBackOr(l), stays: w.fullness(l, full)}, w.StallOf(l)}
		if full || always {
			out.explains = math.Inf(1)
		}
		switch {
		case out.stays > 0:
			out.weight = max(out.weight, share*math.Exp((w.UseOf(l)-x.most)/lessFull))
		case always:
			out.weight = max(out.weight, share)
		}
		if out.weight > 0 {
			w.exits = append(w.exits, out)
		}
	}
}

const (
	// waitsLess is the highest stall of an input, relative to that of a port, at which all of its traffic may go elsewhere.
	waitsLess = .5
	// leastOfPort is the least share of a port's traffic, or of an input's, that must be left for the input to wait for the
	// port: readings of different links do not match exactly.
	leastOfPort = .2
)

// takenByOthers reports whether a link's traffic does not wait for a stalled port, by conservation of flow: the link stalls
// clearly less often than the port, while traffic for the port waits at least as often as that, and all that the port
// carries comes from inputs that stall so often. On a grid, what inputs carry may end at nodes that are hidden.
func (w *walk) takenByOthers(over *hop, out *exit) bool {
	stall, carries := w.StallOf(out.link), w.Carries(out.link)
	if w.grid != nil || out.stays > 0 || carries <= 0 || w.StallOf(over.link) >= waitsLess*stall {
		return false
	}
	left := carries
	for _, in := range w.graph.LinksAt(over.via) {
		if _, to := w.graph.Ends(in); to == over.via && w.StallOf(in) >= stall && w.mayWait(in, out.link) {
			left -= w.Carries(in)
		}
	}
	return left < leastOfPort*min(carries, w.Carries(over.link))
}
