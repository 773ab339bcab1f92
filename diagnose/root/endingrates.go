package root

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// What says where back pressure ends: the weights of a conditional logit, fitted on incidents whose links read the mean of both
// directions (docs/explanation/diagnosis-measured.md). A place is any switch at the region, or any link at one of these, either
// way. Shares are of the time, or of capacity; a log is of a share and leastShown.
var (
	linkWeights  = linkTerms{before: 1.47, beforeAll: 1.06, goesOn: 2.97, stalls: -3.22, next: 2.06, use: 0.838, grew: 6.78, lost: 4.56, input: 0.514, slow: -0.628}
	drainWeights = drainTerms{any: -0.058, before: 0.485, beforeAll: 2.13, stalls: -4.72, line: 5.86, sides: -2, added: 3.86, arrives: -2.27, rises: -56.9, falls: -2.64, carries: -2.63, lost: -2.81, drain: 2}
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
	drain     float64 // that the tree of the region's senders leads to it, or traffic meets there
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
func (e *endings) rateNodes(places []rated, d *Drain, h *held, p *Pressure) []rated {
	end, known := d.End()
	e.nodes = e.nodes[:0]
	var most nodes
	for _, at := range h.devices {
		n := e.around(at, h, p)
		most.before, most.stall, most.added, most.arrives = max(most.before, n.before), max(most.stall, n.stall), max(most.added, n.added), max(most.arrives, n.arrives)
		e.nodes = append(e.nodes, n)
	}
	w := &drainWeights
	for i := range e.nodes {
		n := &e.nodes[i]
		score := w.any + w.before*shownLog(n.before/(most.before+.05)) + w.beforeAll*shownLog(n.before) + w.stalls*n.stall/(most.stall+.05) + w.line*n.line + w.sides*(n.stall-n.line) + w.added*n.added/(most.added+.05) + w.arrives*n.arrives/(most.arrives+.05) + w.rises*n.rises + w.falls*n.falls + w.carries*n.carries + w.lost*n.lost
		if known && n.device == end {
			score += w.drain
		}
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
		v, use := e.stall[i], e.use[i]
		was, all = was+e.was[i], all+use
		far, dir := d, int32(0) // from where it comes, and which way
		if from, to := p.graph.Ends(l); from == d {
			far, dir = to, 1
		} else {
			far = from
		}
		n.before += min(1, v/surely) * (v + passes*e.before[2*i+dir])
		if n.stall += v; dim == last {
			up, carries := 0., 0.
			for _, on := range p.graph.LinksAt(far) {
				if on != l && h.grid.Dim(on) == last {
					up, carries = e.stallOf(on, p), max(0, p.UseOf(on))/100
				}
			}
			n.line += v
			n.rises += max(0, up-v)
			n.falls += max(0, v-up)
			n.carries += use - carries
		}
		if v > .1 {
			n.added += use - e.was[i]
			n.arrives += use
		}
	}
	n.added = max(0, n.added)
	n.lost = max(-1, min(1, (was-all)/(was+.05)))
	return n
}
