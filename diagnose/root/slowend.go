package root

import (
	"math"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// What says at which switch of a line a host does not take what arrives: the weights of a conditional logit, fitted on slow hosts of
// four simulators (docs/explanation/diagnosis-measured.md). Stall is a share of the time, what arrives one of a link's capacity.
const (
	// slowTree weighs how well what is held back on the line agrees with the routes of known senders, as a cosine.
	slowTree = 7.
	// slowFalls weighs by how much stall falls on the way to the switch: what waits before a link waits for what stalls behind it.
	slowFalls = -16.
	// slowSides weighs the mean stall of the switch's links of other dimensions: at the end they share what it takes as equals of the
	// line's, farther off what the line gets of that.
	slowSides = -6.
	// slowArrives weighs what those of them that stall carry.
	slowArrives = 4.
	// slowStalls is what a link of the line stalls at least before its end, and another one to count as arriving.
	slowStalls = .1
)

// slowEnd is the switch of the line through another one whose nodes take too little of what arrives: neighbours on a line show nearly
// the same. It is the other one where nothing on the line stalls.
func (e *endings) slowEnd(on topology.DeviceID, d *Drain, h *held, p *Pressure) topology.DeviceID {
	line := h.lineFrom(on)
	best, most := on, math.Inf(-1)
	stall := func(at int) float64 { // of the link from a stop to the next one
		if l := line[(at+len(line))%len(line)].link; l != schema.NoLink {
			return e.stallOf(l, p)
		}
		return 0
	}
	for i := range line {
		back, ahead := stall(i-1), stall(i)
		if max(back, ahead) < slowStalls {
			continue
		}
		falls := max(0, stall(i-2)-back) + max(0, stall(i+1)-ahead)
		sides, arrives := e.besideLine(line[i].device, h, p)
		score := slowFalls*falls + slowSides*sides + slowArrives*arrives
		if d.known {
			h.tree.Gather(d.Senders, line[i].device)
			score += slowTree * h.lastLine(line[i].device, p).profile
			h.tree.Reset()
		}
		if score > most {
			best, most = line[i].device, score
		}
	}
	return best
}

// besideLine is the mean stall of a switch's links that are not of the last dimension, and what those that stall carry, of the capacity
// of a link that is.
func (e *endings) besideLine(at topology.DeviceID, h *held, p *Pressure) (stall, arrives float64) {
	n, capacity := 0., 0.
	for _, l := range p.graph.LinksAt(at) {
		switch dim := h.grid.Dim(l); {
		case dim == h.last:
			capacity = max(capacity, p.graph.Capacity(l))
		case dim >= 0 && dim < h.last:
			s := e.stallOf(l, p)
			if stall, n = stall+s, n+1; s > slowStalls {
				arrives += p.Carries(l) / p.oneWay
			}
		}
	}
	return stall / max(1, n), arrives / max(1, capacity)
}
