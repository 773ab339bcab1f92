package root

import (
	"math"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Weights of a conditional logit for which switch of a line has the slow host, fitted on slow hosts of four simulators
// (docs/explanation/diagnosis-measured.md). Stall is a share of time, arriving load a share of a link's capacity.
const (
	// slowTree weighs how well the traffic held back on the line agrees with the routes of known senders, as a cosine.
	slowTree = 7.
	// slowFalls weighs by how much stall falls towards the switch: traffic before a link waits for what stalls downstream.
	slowFalls = -16.
	// slowSides weighs the mean stall of the switch's links of other dimensions. At the end they share what the switch accepts equally
	// with the line's links; farther away they share only what the line gets of it.
	slowSides = -6.
	// slowArrives weighs the load of those of them that stall.
	slowArrives = 4.
	// slowStalls is the least stall of a link of the line before its end, and of another link to count as arriving.
	slowStalls = .1
)

// slowEnd is the switch, of those on the line through on, whose nodes accept too little of the arriving traffic; readings alone hardly
// tell neighbours on a line apart. It is on if nothing on the line stalls.
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

// besideLine is the mean stall of a switch's links of other dimensions than the last, and the load of those that stall, relative to the
// capacity of a link of the last.
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
