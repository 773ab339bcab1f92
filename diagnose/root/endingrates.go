package root

import (
	"math"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Weights of a conditional logit for where back pressure ends, each constrained to the sign that physics gives it. They
// were fitted together on incidents of four simulators, whose links read the mean of both directions, their sum and the
// larger (docs/measurements/diagnosis.md), except for keeps, which was chosen beside them on a fifth. A place is any
// switch at the region, or any link at one of these, in either direction. Shares are of time, or of what one direction
// shows; a log is of a share plus leastShown.
var (
	linkWeights = linkTerms{before: 1, most: 1.16, use: 3.63, stalls: -2.21, lost: 6.04, fills: 2.97, waits: 5.6,
		flat: 1.62, bottleneck: 16}
	nodeWeights = nodeTerms{before: .85, line: 1.28, onLine: 7.05, falls: -2.14, added: 1.44, keeps: 2, end: .96,
		tree: 1.4, member: .95, agree: 1.76, appears: -3.07, off: -4.37, meets: .47}
)

const (
	// fewBefore is the stall upstream of a link, relative to the link with most, up to which back pressure cannot end
	// there.
	fewBefore = .01
	// fillsFrom is the share of what one direction shows from which on a link counts as filling; fillsBy above that it
	// is full. twoWays limits the use that counts, as both directions may carry traffic.
	fillsFrom, fillsBy, twoWays = .6, .35, 1.3
	// freeBelow is the stall, share of time, from which on a link does not count as filling.
	freeBelow = .3
	// mostBehind limits by how much a switch of the line is rated below the most probable end.
	mostBehind = 3
)

// linkTerms are the terms of a link, in one direction, that others may wait for.
type linkTerms struct {
	before     float64 // log of the stall upstream of it
	most       float64 // log of that relative to the link with most
	stalls     float64 // its own stall: then traffic waits for something behind it
	use        float64 // use relative to the link with the highest
	fills      float64 // how full it is, if it carries more than before the onset without stall
	lost       float64 // share of its load before the onset that it lost
	flat       float64 // constant load since the onset, less than before
	waits      float64 // share of time that packets wait for it inside the switch, beyond its own stall
	bottleneck float64 // how much of the region waits for it (Bottleneck.Score)
}

// nodeTerms are the terms of the nodes of a switch.
type nodeTerms struct {
	before float64 // log of the stall upstream of them
	line   float64 // stall of the switch's links of the last dimension, over which traffic arrives that ends there
	onLine float64 // share of that in the stall of all its links: traffic on the others may go on
	falls  float64 // by how much the next links upstream on its line stall less than those at it
	added  float64 // load added on its stalled links since the onset, relative to the switch with most
	keeps  float64 // load added that does not pass, if the region's grew (keepsAt), beyond the mean: the same
	end    float64 // the tree of the region's senders leads to it, or traffic merges there

	// For switches of the line where traffic merges:
	tree    float64 // fit of the best suspect's tree to it, minus the best of all
	member  float64 // it is a node of that suspect
	agree   float64 // how well the line agrees with traffic that ends there
	appears float64 // added load on the line without a visible source, relative to where most arrives
	off     float64 // share of waiting traffic that does not add up
	meets   float64 // score of all evidence on the line, minus that of the most probable end
}

// rateLinks rates the links, in either direction.
func (e *endings) rateLinks(places []rated, g *GridRegion) []rated {
	most, fullest := 0., 0.
	for i, use := range e.use {
		most, fullest = max(most, e.before[2*i], e.before[2*i+1]), max(fullest, min(g.p.inOneWay(use), twoWays))
	}
	if most == 0 {
		return places
	}
	least, w := fewBefore*most, &linkWeights
	for i, l := range e.links {
		if max(e.before[2*i], e.before[2*i+1]) < least {
			continue
		}
		use, was, lost := e.use[i], e.was[i], 0.
		if was > LeastUse/100. {
			lost = max(0, was-use) / was
		}
		alike := w.stalls*e.stall[i] + w.lost*lost + w.waits*g.p.waitsBeyond(l) + w.bottleneck*e.bottlenecks[i]
		if fullest > 0 {
			alike += w.use * min(g.p.inOneWay(use), twoWays) / fullest
		}
		if use > SteadyLoad*was {
			alike += w.fills * max(0, min(1, (g.p.inOneWay(use)-fillsFrom)/fillsBy)) * max(0, 1-e.stall[i]/freeBelow)
		}
		if lost > 1-ClearlyLess && g.p.isFlat(l) {
			alike += w.flat
		}
		for dir := range int32(2) {
			if before := e.before[2*int32(i)+dir]; before >= least {
				places = append(places, rated{lost: lost, link: l, from: e.endOf(l, 1-dir, g), to: e.endOf(l, dir, g),
					score: alike + w.before*shownLog(before) + w.most*shownLog(before/(most+.05))})
			}
		}
	}
	return places
}

// rateNodes rates the nodes of the region's switches.
func (e *endings) rateNodes(places []rated, d *Drain, g *GridRegion) []rated {
	end, known := d.End()
	e.nodes = e.nodes[:0]
	most, keepsMost, keepsMean := 0., 0., 0. // load added
	for _, at := range g.devices {
		n := e.around(at, g)
		most, keepsMost = max(most, n.added), max(keepsMost, n.keeps)
		keepsMean += n.keeps / float64(len(g.devices))
		e.nodes = append(e.nodes, n)
	}
	w, line := &nodeWeights, g.onTheLine()
	for i := range e.nodes {
		n := &e.nodes[i]
		score := w.before*shownLog(n.before) + w.line*n.line + w.onLine*n.line/(n.line+n.sides+.1) + w.falls*n.falls
		if most > 0 {
			score += w.added * n.added / most
		}
		if keepsMost > 0 {
			score += w.keeps * (n.keeps - keepsMean) / keepsMost // of an exchange all are alike
		}
		if known && n.device == end {
			score += w.end
		}
		score += line.score(n.device, g)
		places = append(places, rated{link: schema.NoLink, from: n.device, to: n.device, score: score})
	}
	return places
}

// nodes are the readings around the nodes of a switch.
type nodes struct {
	device                            topology.DeviceID
	before, line, sides, falls, added float64
	keeps                             float64
}

// around computes the readings around the nodes of a switch.
func (e *endings) around(d topology.DeviceID, g *GridRegion) nodes {
	last := len(g.grid.Dims()) - 1
	n := nodes{device: d}
	for _, l := range g.p.graph.LinksAt(d) {
		dim := g.grid.Dim(l)
		if dim < 0 {
			continue
		}
		i := e.at[l]
		stall, use := e.stall[i], e.use[i]
		far, dir := d, int32(0) // the switch it comes from, and the direction
		if from, to := g.p.graph.Ends(l); from == d {
			far, dir = to, 1
		} else {
			far = from
		}
		n.before += min(1, stall/surely) * (stall + passes*e.before[2*i+dir])
		if dim == last {
			n.line += stall
			n.falls += max(0, stall-e.beforeOnLine(l, far, g))
		} else {
			n.sides += stall
		}
		if stall > .1 {
			n.added += use - e.was[i]
		}
	}
	n.added = max(0, n.added)
	if g.grew {
		n.keeps = g.keepsAt(d)
	}
	return n
}

// keepsAt is the least load added to the links of a switch, bytes/s, that goes to its nodes or comes from them: of what
// only passes, one link takes on what the others bring.
func (g *regionReadings) keepsAt(at topology.DeviceID) float64 {
	sum := 0.
	for _, l := range g.p.graph.LinksAt(at) {
		sum += g.look(l).added
	}
	keeps := sum
	for _, l := range g.p.graph.LinksAt(at) {
		keeps = min(keeps, math.Abs(sum-2*g.look(l).added))
	}
	return keeps
}

// beforeOnLine is the stall of the link upstream of another on the same line.
func (e *endings) beforeOnLine(l schema.LinkID, far topology.DeviceID, g *GridRegion) float64 {
	for _, on := range g.p.graph.LinksAt(far) {
		if on != l && g.grid.Dim(on) == g.grid.Dim(l) {
			return e.stallOf(on, g)
		}
	}
	return 0
}
