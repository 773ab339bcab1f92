package root

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// What says where back pressure ends: the weights of a conditional logit, each bound to the sign that physics gives it, fitted
// together on incidents of four simulators, whose links read the mean of both directions, their sum and the larger
// (docs/explanation/diagnosis-measured.md). A place is any switch at the region, or any link at one of these, either way. Shares are
// of the time, or of what one direction shows; a log is of a share and leastShown.
var (
	linkWeights = linkTerms{before: 1, most: 1.16, use: 3.63, stalls: -2.21, lost: 6.04, fills: 2.97, waits: 5.6, flat: 1.62, neck: 16}
	nodeWeights = nodeTerms{before: .85, line: 1.28, onLine: 7.05, falls: -2.14, added: 1.44, end: .96, lost: -1.26,
		tree: 1.4, member: .95, agree: 1.76, appears: -3.07, off: -4.37, meets: .47, level: 1.34}
)

const (
	// fewBefore is the share of what stalls before the link where most does up to which a link is no place where it ends.
	fewBefore = .01
	// fillsFrom is the share of what one direction shows from which on a link fills, fillsBy how much more it is full at; twoWays is
	// the most that counts of what it shows, as both directions may carry something.
	fillsFrom, fillsBy, twoWays = .6, .35, 1.3
	// freeBelow is from which stall on, share of time, a link does not fill.
	freeBelow = .3
	// mostBehind is by how much a switch of the line may be rated worse than the one that is the end most probably.
	mostBehind = 3
)

// linkTerms is what is seen of a link, in one direction, that others may wait for.
type linkTerms struct {
	before float64 // log of what stalls before it
	most   float64 // log of that as a share of what stalls before the link where most does
	stalls float64 // how much it does itself: then what waits is for something behind it
	use    float64 // what it carries, of the link that carries most
	fills  float64 // how full it is, if it carries more than before the onset and does not stall
	lost   float64 // the share of what it carried before the onset that it lost
	flat   float64 // that it carries the same since, and lost
	waits  float64 // share of time that packets wait for it inside the switch
	neck   float64 // how much of the region waits for it
}

// nodeTerms is what is seen of a switch's nodes.
type nodeTerms struct {
	before float64 // log of what stalls before them
	line   float64 // what the switch's links of the last dimension stall, over which traffic arrives that ends there
	onLine float64 // the share of that in what all of its links stall: traffic on the others may go on
	falls  float64 // by how much the links before it on its line stall less than those at it
	added  float64 // what stalled links carry beyond what they did before the onset, of where that is most
	lost   float64 // share of what its links carried before the onset that they do not now
	end    float64 // that the tree of the region's senders leads to it, or traffic meets there

	// Of the switches of the line on which traffic comes together.
	tree    float64 // how well the tree of a suspect to it agrees, beyond the best one
	member  float64 // that the suspect of the best tree to it has it
	agree   float64 // how well the line agrees with traffic that ends there
	appears float64 // added load on the line of which it is not seen where it comes from, of what arrives where most does
	off     float64 // what waits there that does not add up
	meets   float64 // by all that the line says, beyond the most probable end
	level   float64 // how much its links stall, of the link that does most
}

// rateLinks rates the links, either way.
func (e *endings) rateLinks(places []rated, p *Pressure) []rated {
	most, fullest := 0., 0.
	for i, use := range e.use {
		most, fullest = max(most, e.before[2*i], e.before[2*i+1]), max(fullest, min(use, twoWays*p.oneWay))
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
		alike := w.stalls*e.stall[i] + w.lost*lost + w.waits*p.waitsFor(l) + w.neck*e.necks[i]
		if fullest > 0 {
			alike += w.use * min(use, twoWays*p.oneWay) / fullest
		}
		if use > SteadyLoad*was {
			alike += w.fills * max(0, min(1, (use/p.oneWay-fillsFrom)/fillsBy)) * max(0, 1-e.stall[i]/freeBelow)
		}
		if lost > 1-ClearlyLess && p.isFlat(l) {
			alike += w.flat
		}
		for dir := range int32(2) {
			if before := e.before[2*int32(i)+dir]; before >= least {
				places = append(places, rated{lost: lost, link: l, from: e.endOf(l, 1-dir, p), to: e.endOf(l, dir, p), score: alike + w.before*shownLog(before) + w.most*shownLog(before/(most+.05))})
			}
		}
	}
	return places
}

// rateNodes rates the nodes of the region's switches.
func (e *endings) rateNodes(places []rated, d *Drain, h *held, p *Pressure) []rated {
	end, known := d.End()
	e.nodes = e.nodes[:0]
	most := 0. // added
	for _, at := range h.devices {
		n := e.around(at, h, p)
		most = max(most, n.added)
		e.nodes = append(e.nodes, n)
	}
	w, line := &nodeWeights, h.onTheLine()
	for i := range e.nodes {
		n := &e.nodes[i]
		score := w.before*shownLog(n.before) + w.line*n.line + w.onLine*n.line/(n.line+n.sides+.1) + w.falls*n.falls + w.lost*n.lost
		if most > 0 {
			score += w.added * n.added / most
		}
		if known && n.device == end {
			score += w.end
		}
		places = append(places, rated{link: schema.NoLink, from: n.device, to: n.device, score: score + line.score(n.device, h, p)})
	}
	return places
}

// nodes is what is seen around the nodes of a switch.
type nodes struct {
	device                                  topology.DeviceID
	before, line, sides, falls, added, lost float64
}

// around is what is seen around the nodes of a switch.
func (e *endings) around(d topology.DeviceID, h *held, p *Pressure) nodes {
	last := len(h.grid.Dims()) - 1
	n := nodes{device: d}
	was, all := 0., 0.
	for _, l := range p.graph.LinksAt(d) {
		dim := h.grid.Dim(l)
		if dim < 0 {
			continue
		}
		i := e.at[l]
		stall, use := e.stall[i], e.use[i]
		was, all = was+e.was[i], all+use
		far, dir := d, int32(0) // from where it comes, and which way
		if from, to := p.graph.Ends(l); from == d {
			far, dir = to, 1
		} else {
			far = from
		}
		n.before += min(1, stall/surely) * (stall + passes*e.before[2*i+dir])
		if dim == last {
			n.line += stall
			n.falls += max(0, stall-e.beforeOnLine(l, far, h, p))
		} else {
			n.sides += stall
		}
		if stall > .1 {
			n.added += use - e.was[i]
		}
	}
	n.added = max(0, n.added)
	n.lost = max(-1, min(1, (was-all)/(was+.05)))
	return n
}

// beforeOnLine is what the link before another one stalls on the same line.
func (e *endings) beforeOnLine(l schema.LinkID, far topology.DeviceID, h *held, p *Pressure) float64 {
	for _, on := range p.graph.LinksAt(far) {
		if on != l && h.grid.Dim(on) == h.grid.Dim(l) {
			return e.stallOf(on, p)
		}
	}
	return 0
}
