package root

import (
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Ending is the place of a grid at which the back pressure of a region ends: a link in one direction, or a switch whose nodes do not
// take what arrives.
type Ending struct {
	Found  bool
	Device topology.DeviceID
	Link   schema.LinkID // that leaves or enters the switch; NoLink: its nodes
	Lost   float64       // of a link, the share of what it carried before the onset that it does not now
}

// What says where back pressure ends: the weights of a conditional logit, fitted on incidents whose links read the mean of both
// directions (docs/explanation/diagnosis-measured.md). A place is any switch at the region, or any link at one of these, either
// way. Shares are of the time, or of capacity; a log is of a share and leastShown.
var (
	linkWeights  = linkTerms{before: 1.47, beforeAll: 1.06, goesOn: 2.85, stalls: -3.31, next: 2.08, use: 0.846, grew: 7.02, lost: 4.7, input: 0.523, slow: -0.635}
	drainWeights = drainTerms{any: -0.042, before: 0.419, beforeAll: 2.24, stalls: -4.79, line: 6.57, sides: -2.14, added: 5.07, arrives: -2.77, rises: -56, falls: -2.57, carries: -3.38, lost: -2.81}
)

// linkTerms is what is seen of a link, in one direction, that others may wait for.
type linkTerms struct {
	before    float64 // log of what stalls before it, of where most does
	beforeAll float64 // log of what stalls before it
	goesOn    float64 // how much what it may lead to stalls, by what these carry: then what waits is for those
	stalls    float64 // how much it does itself
	next      float64 // how much the next link of its line does
	use       float64 // log of what it carries
	grew      float64 // what it carries beyond what it did before the onset
	lost      float64 // the share of that which it lost
	input     float64 // log of the most that a link which leads into it stalls
	slow      float64 // input by the share that was lost
}

// drainTerms is the same of a switch's nodes.
type drainTerms struct {
	any       float64 // 1
	before    float64 // as of a link
	beforeAll float64
	stalls    float64 // what the switch's links stall, of where that is most
	line      float64 // its links of the last dimension
	sides     float64 // its others
	added     float64 // what stalled links carry beyond what they did before the onset, of where that is most
	arrives   float64 // what stalled links carry, of where that is most
	rises     float64 // by how much the links before it on its line stall more than those at it
	falls     float64 // by how much less
	carries   float64 // how much less they carry
	lost      float64 // share of what its links carried before the onset that they do not now
}

const (
	// passes is how much of what stalls before a link that stalls counts before the next one.
	passes = .8
	// surely is from which stall on, share of time, a link surely holds up what is before it; quiet what noise shows.
	surely, quiet = .15, .01
	// leastShown is the least that a log is taken of, rounds how many links are followed one after the other.
	leastShown, rounds = .02, 10
)

// endings is the memory of what is found of the places of a region.
type endings struct {
	links  []schema.LinkID // at the region's switches
	at     []int32         // by link: its place in links, of the round
	round  []uint32
	stall  []float64 // by link's place, of the direction in which it stalls, share of time
	use    []float64 // share of capacity
	was    []float64 // the same before the onset
	before []float64 // by link's place, twice, and one more for the way from its end to its beginning: what stalls before it
	edges  []edge
	next   []float64
	places []rated
	nodes  []nodes
	scores []float64 // by switch: the odds of the places at it
}

// edge leads from a stalled link into one that it may wait for, either of them one way.
type edge struct {
	from, to int32
	own      float64 // what the first one adds to what stalls before the other
	pass     float64 // the share of what stalls before it that it does
}

func newEndings(links, devices int) endings {
	return endings{at: make([]int32, links), round: make([]uint32, links), scores: make([]float64, devices)}
}

// Endings are where the back pressure of a region ends: anywhere, at a link, and at a switch's nodes.
type Endings struct {
	Any, Link, Nodes Ending
	AtNodes          float64 // how probable it is that it ends at some switch's nodes, 0 to 1
}

// Endings finds where the back pressure of a region ends on a grid whose readings are the mean of both directions. The region is the
// one of which Drain was asked last. Followed from link to link back pressure ends where much stalls before a link, and little of what
// that leads to does; each place is rated by that and by what it carries, and a switch by all places at it, as a link is known
// by either of its ends.
func (f *Finder) Endings(p *Pressure) (found Endings) {
	h, e := &f.held, &f.endings
	if f.grid == nil || !f.graph.Duplex() || p.oneWay == 1 || len(h.devices) == 0 {
		return found
	}
	e.take(h, p)
	e.follow(h, p)
	e.places = e.rateLinks(e.places[:0], h, p)
	links := len(e.places)
	e.places = e.rateNodes(e.places, h, p)
	found = Endings{Any: e.best(e.places), Link: e.best(e.places[:links]), Nodes: e.best(e.places[links:])}
	found.AtNodes = e.shareFrom(links)
	return found
}

// AtSlowLink reports whether back pressure ends at a link that carries clearly less than before the onset.
func (e *Endings) AtSlowLink() bool {
	return e.Link.Found && e.AtNodes < .5 && e.Link.Lost > 1-ClearlyLess
}

// Neck is the link at which it ends.
func (e *Endings) Neck() Neck {
	return Neck{Link: e.Link.Link, Tail: e.Link.Device, Lost: e.Link.Lost, Slower: true, Sole: true}
}

// take looks up the links at the switches of the region.
func (e *endings) take(h *held, p *Pressure) {
	e.links, e.stall, e.use, e.was = e.links[:0], e.stall[:0], e.use[:0], e.was[:0]
	for _, d := range h.devices {
		for _, l := range p.graph.LinksAt(d) {
			if e.round[l] == h.round || h.grid.Dim(l) < 0 {
				continue
			}
			e.round[l], e.at[l] = h.round, int32(len(e.links))
			e.links = append(e.links, l)
			e.stall = append(e.stall, e.stallOf(l, p))
			e.use = append(e.use, max(0, p.UseOf(l))/100)
			e.was = append(e.was, max(0, p.Before(l))/100)
		}
	}
}

func (e *endings) stallOf(l schema.LinkID, p *Pressure) float64 {
	return min(1, max(0, p.StallOf(l)/100-quiet)/p.oneWay)
}

// follow adds up what stalls before each link, either way: over the links that lead into it, by what it carries of all that these
// may lead to.
func (e *endings) follow(h *held, p *Pressure) {
	e.edges = e.edges[:0]
	for i, l := range e.links {
		if e.stall[i] == 0 {
			continue
		}
		for dir := range int32(2) { // what travels over it that way may go on over others behind its end
			via, dim := e.endOf(l, dir, p), h.grid.Dim(l)
			all := leastShown
			for _, out := range p.graph.LinksAt(via) {
				if out != l && h.grid.Dim(out) >= dim {
					all += max(0, p.UseOf(out)) / 100
				}
			}
			sure := min(1, e.stall[i]/surely)
			for _, out := range p.graph.LinksAt(via) {
				if out == l || h.grid.Dim(out) < dim || e.round[out] != h.round {
					continue
				}
				part := sure * min(1, (e.use[e.at[out]]+.005)/all)
				to := 2 * e.at[out]
				if from, _ := p.graph.Ends(out); from != via {
					to++
				}
				e.edges = append(e.edges, edge{2*int32(i) + dir, to, part * e.stall[i], part * passes})
			}
		}
	}
	n := 2 * len(e.links)
	e.before, e.next = slices.Grow(e.before[:0], n)[:n], slices.Grow(e.next[:0], n)[:n]
	clear(e.before)
	for range rounds {
		clear(e.next)
		for _, by := range e.edges {
			e.next[by.to] += by.own + by.pass*e.before[by.from]
		}
		e.before, e.next = e.next, e.before
	}
}

// endOf is the switch to which a link leads, one way.
func (e *endings) endOf(l schema.LinkID, dir int32, p *Pressure) topology.DeviceID {
	from, to := p.graph.Ends(l)
	if dir == 1 {
		return from
	}
	return to
}

// shownLog is the log of a share.
func shownLog(share float64) float64 { return math.Log(max(0, share) + leastShown) }

// rated is a place that is rated: a link, one way, or a switch's nodes.
type rated struct {
	lost     float64       // of a link, of what it carried before the onset
	link     schema.LinkID // NoLink: nodes
	from, to topology.DeviceID
	score    float64
}

// best is the switch with the most probable places at it, and the most probable of these.
func (e *endings) best(places []rated) (best Ending) {
	highest := math.Inf(-1)
	for i := range places {
		highest = max(highest, places[i].score)
		e.scores[places[i].from], e.scores[places[i].to] = 0, 0
	}
	for i := range places {
		at := &places[i]
		odds := math.Exp(at.score - highest)
		e.scores[at.from] += odds
		if at.to != at.from {
			e.scores[at.to] += odds
		}
	}
	most, first := 0., math.Inf(-1)
	for i := range places {
		at := &places[i]
		for _, d := range [2]topology.DeviceID{at.from, at.to} {
			switch score := e.scores[d]; {
			case score > most || score == most && d < best.Device:
				most, first = score, at.score
				best = Ending{true, d, at.link, at.lost}
			case d == best.Device && at.score > first:
				first, best.Link, best.Lost = at.score, at.link, at.lost
			}
		}
	}
	return best
}

// shareFrom is how probable the places from one on are, of all.
func (e *endings) shareFrom(first int) float64 {
	highest, sum, all := math.Inf(-1), 0., 0.
	for i := range e.places {
		highest = max(highest, e.places[i].score)
	}
	for i := range e.places {
		odds := math.Exp(e.places[i].score - highest)
		if all += odds; i >= first {
			sum += odds
		}
	}
	return sum / all
}

// rateLinks rates the links, either way.
func (e *endings) rateLinks(places []rated, h *held, p *Pressure) []rated {
	most := 0.
	for i := range e.links {
		most = max(most, e.before[2*i], e.before[2*i+1])
	}
	w := &linkWeights
	for i, l := range e.links {
		use, was, dim := e.use[i], e.was[i], h.grid.Dim(l)
		lost := 0.
		if was > LeastUse/100. {
			lost = max(0, was-use) / was
		}
		alike := w.stalls*e.stall[i] + w.use*shownLog(use) + w.grew*max(-.5, min(1, use-was)) + w.lost*lost
		for dir := range int32(2) {
			head := e.endOf(l, dir, p)
			tail := e.endOf(l, 1-dir, p)
			before := e.before[2*int32(i)+dir]
			input := 0.
			for _, in := range p.graph.LinksAt(tail) {
				if d := h.grid.Dim(in); in != l && d >= 0 && d <= dim {
					input = max(input, e.stallOf(in, p))
				}
			}
			all, held, next := leastShown, 0., 0.
			for _, out := range p.graph.LinksAt(head) {
				if d := h.grid.Dim(out); out != l && d >= dim {
					v, u := e.stallOf(out, p), max(0, p.UseOf(out))/100
					all, held = all+u, held+u*v
					if d == dim {
						next = v
					}
				}
			}
			places = append(places, rated{lost, l, tail, head, alike + w.before*shownLog(before/(most+.05)) + w.beforeAll*shownLog(before) + w.goesOn*held/all + w.next*next + w.input*shownLog(input) + w.slow*lost*shownLog(input)})
		}
	}
	return places
}

// rateNodes rates the nodes of the region's switches.
func (e *endings) rateNodes(places []rated, h *held, p *Pressure) []rated {
	last := len(h.grid.Dims()) - 1
	e.nodes = e.nodes[:0]
	var most nodes
	for _, d := range h.devices {
		n := nodes{device: d}
		was, all := 0., 0.
		for _, l := range p.graph.LinksAt(d) {
			dim := h.grid.Dim(l)
			if dim < 0 {
				continue
			}
			i := e.at[l]
			v, use := e.stall[i], e.use[i]
			was, all = was+e.was[i], all+use
			if n.stall += v; dim == last {
				n.line += v
				far, dir := d, int32(0)
				if from, to := p.graph.Ends(l); from == d {
					far, dir = to, 1
				} else {
					far = from
				}
				n.before += min(1, v/surely) * (v + passes*e.before[2*i+dir])
				up, carries := 0., 0.
				for _, on := range p.graph.LinksAt(far) {
					if on != l && h.grid.Dim(on) == last {
						up, carries = e.stallOf(on, p), max(0, p.UseOf(on))/100
					}
				}
				n.rises += max(0, up-v)
				n.falls += max(0, v-up)
				n.carries += use - carries
			} else {
				dir := int32(0)
				if from, _ := p.graph.Ends(l); from == d {
					dir = 1
				}
				n.before += min(1, v/surely) * (v + passes*e.before[2*i+dir])
			}
			if v > .1 {
				n.added += use - e.was[i]
				n.arrives += use
			}
		}
		n.added = max(0, n.added)
		n.lost = max(-1, min(1, (was-all)/(was+.05)))
		most.before, most.stall, most.added, most.arrives = max(most.before, n.before), max(most.stall, n.stall), max(most.added, n.added), max(most.arrives, n.arrives)
		e.nodes = append(e.nodes, n)
	}
	w := &drainWeights
	for i := range e.nodes {
		n := &e.nodes[i]
		score := w.any + w.before*shownLog(n.before/(most.before+.05)) + w.beforeAll*shownLog(n.before) + w.stalls*n.stall/(most.stall+.05) + w.line*n.line + w.sides*(n.stall-n.line) + w.added*n.added/(most.added+.05) + w.arrives*n.arrives/(most.arrives+.05) + w.rises*n.rises + w.falls*n.falls + w.carries*n.carries + w.lost*n.lost
		places = append(places, rated{0, schema.NoLink, n.device, n.device, score})
	}
	return places
}

// nodes is what is seen around the nodes of a switch.
type nodes struct {
	device                              topology.DeviceID
	before, stall, line, added, arrives float64
	rises, falls, carries, lost         float64
}
