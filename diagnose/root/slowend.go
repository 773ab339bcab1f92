package root

import (
	"math"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Weights for which switch of a line has the slow host, chosen on slow hosts of three simulators that share a switch's throughput in
// different ways (docs/measurements/diagnosis.md). Stall is a share of time.
const (
	// slowRated weighs the rating of a switch's nodes by the comparison of all places.
	slowRated = .4
	// slowTree weighs how well the traffic held back on the line agrees with the routes of known senders, as a cosine.
	slowTree = 7.
	// slowFalls weighs by how much stall falls towards the switch: traffic before a link waits for what stalls downstream.
	slowFalls = -16.
	// slowPartly weighs the switch's links of other dimensions that stall part of the time, relative to the line: those that lead to the
	// end's nodes stall like the line or, if they lead elsewhere, not at all; farther away only a part of what they carry turns that way.
	slowPartly = -2.
	// slowStalls is the least stall of a link of the line before its end.
	slowStalls = .1
)

// slowEnd is the switch, of those on the line through on, whose nodes accept too little of the arriving traffic; readings alone hardly
// tell neighbours on a line apart. It is on if nothing on the line stalls.
func (e *endings) slowEnd(on topology.DeviceID, places []rated, d *Drain, g *GridRegion) topology.DeviceID {
	best, most, highest := on, math.Inf(-1), 0. // the highest stall on the line
	for _, s := range g.lineFrom(on) {
		if s.link != schema.NoLink {
			highest = max(highest, e.stallOf(s.link, g))
		}
	}
	whole := g.line.line
	for i := range places {
		at := places[i].from
		if !whole.Has(at) {
			continue
		}
		line := g.lineFrom(at)
		stall := func(n, step int) float64 { // of the link that many links from the switch
			if l := linkOn(line, n, step).link; l != schema.NoLink {
				return e.stallOf(l, g)
			}
			return 0
		}
		back, ahead := stall(0, -1), stall(0, 1)
		if max(back, ahead) < slowStalls {
			continue
		}
		score := slowRated*places[i].score + slowFalls*(max(0, stall(1, -1)-back)+max(0, stall(1, 1)-ahead)) + slowPartly*e.partly(at, highest, g)
		if len(d.Senders) > 0 {
			g.tree.Gather(d.Senders, at)
			score += slowTree * g.lastLine(at).profile
			g.tree.Reset()
		}
		if score > most {
			best, most = at, score
		}
	}
	return best
}

// partly is the number of a switch's links of other dimensions than the last that stall part of the time: 0 for one that does not stall
// or stalls as much as the line does at most, half for one that stalls half as much.
func (e *endings) partly(at topology.DeviceID, highest float64, g *GridRegion) (n float64) {
	for _, l := range g.p.graph.LinksAt(at) {
		if dim := g.grid.Dim(l); dim >= 0 && dim < g.last {
			share := min(1, e.stallOf(l, g)/highest)
			n += min(share, 1-share)
		}
	}
	return n
}
