package root

import "github.com/giverny/giverny/topology"

// Weights of the switches of a line whose nodes may be where back pressure ends, added to their log odds by the
// comparison of all places. They were chosen on the ends of 163 incidents of four simulators, receiving and
// waitsForNothing on 74 of two others (docs/measurements/diagnosis.md).
const (
	// climbs weighs by how much the load added to the links of the line rises away from the switch, and the same for
	// the traffic that waits on them, each relative to the link with most: what joins the line on the way to its end
	// stays on it.
	climbs = -2.
	// receiving is the weight of a switch with nodes to which the traffic to blame goes.
	receiving = 2.
	// waitsForNothing weighs the stall of links of the line, share of time, that nothing before them explains (unfed).
	waitsForNothing = -10.
	// clearlyBeside is by how much, percent, the links beside the line at slow nodes stall less than those of both
	// neighbours.
	clearlyBeside = 5
)

// linePlace is a switch of a line, with the log odds that back pressure ends at its nodes.
type linePlace struct {
	device topology.DeviceID
	score  float64
	off    float64 // share of the load added on the line that cannot go to it, beyond that of the best switch (rateFlow)
}

// rateLine rates the switches of the line through on: traffic to any node meets on a line, and neighbours on that are
// hard to tell apart.
func (e *endings) rateLine(on topology.DeviceID, places []rated, g *GridRegion) {
	e.line = e.line[:0]
	line := g.lineFrom(on)
	whole := g.line.line
	added, waits := 1., 1.
	for i := range line {
		added, waits = max(added, line[i].added), max(waits, line[i].waits)
	}
	for i := range places {
		if d := places[i].from; whole.Has(d) {
			from := g.lineFrom(d)
			climb := climbOn(from, func(s *stop) float64 { return s.added / added }) +
				climbOn(from, func(s *stop) float64 { return s.waits / waits })
			e.line = append(e.line, linePlace{device: d, score: places[i].score + climbs*climb +
				waitsForNothing*g.unfed(from)})
		}
	}
	e.rateFlow(g)
}

// climbOn is by how much a value of the links of a line rises away from its first switch, both ways and as far as
// routes lead.
func climbOn(line []stop, of func(*stop) float64) (sum float64) {
	for _, step := range [2]int{1, -1} {
		for n := range len(line)/2 - 1 {
			sum += max(0, of(linkOn(line, n+1, step))-of(linkOn(line, n, step)))
		}
	}
	return sum
}

// slowest is the switch of the line whose nodes accept too little, while something always waits for them, if stall
// beside the line shows it. They serve their links in turn, so those beside the line get most of what they bring, which
// is less. At the switches before it, they share what the next link of the line gets.
func (e *endings) slowest(g *GridRegion) (at topology.DeviceID, known bool) {
	most := float64(clearlyBeside)
	for _, p := range e.line {
		line := g.lineFrom(p.device)
		if min(linkOn(line, 0, 1).stall, linkOn(line, 0, -1).stall) < g.least {
			continue
		}
		beside := min(g.mostBeside(switchOn(line, 1, 1).device), g.mostBeside(switchOn(line, 1, -1).device))
		if less := beside - g.mostBeside(p.device); less >= most {
			at, most, known = p.device, less, true
		}
	}
	return at, known
}

// mostBeside is the highest stall of a switch's links beside the line, percent.
func (g *regionReadings) mostBeside(at topology.DeviceID) (most float64) {
	for _, l := range g.p.graph.LinksAt(at) {
		if r := g.look(l); r.dim >= 0 && r.dim < g.last {
			most = max(most, r.stall)
		}
	}
	return most
}

// NodesEnd is the switch at whose nodes the back pressure of a region ends if it ends at nodes; receives says how
// surely, 0 to 1, a switch has nodes to which the traffic to blame goes; it does not where the load added on the line
// cannot. Endings found such an end.
func (g *GridRegion) NodesEnd(receives func(topology.DeviceID) float64) (at topology.DeviceID) {
	g.check()
	most := 0.
	for i, p := range g.endings.line {
		if p.off < clearlyOff {
			p.score += receiving * receives(p.device)
		}
		if i == 0 || p.score > most {
			at, most = p.device, p.score
		}
	}
	return at
}
