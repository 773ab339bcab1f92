package root

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// What says where back pressure ends: the weights of a conditional logit, each bound to the sign that physics gives it, fitted on
// incidents whose links read the mean of both directions (docs/explanation/diagnosis-measured.md). A place is any switch at the
// region, or any link at one of these, either way. Shares are of the time, or of capacity; a log is of a share and leastShown.
var (
	linkWeights = linkTerms{before: 1.01, most: 1.65, stalls: -2.2, use: .84, grew: 6.72, lost: 5.6}
	nodeWeights = nodeTerms{nodes: -2.08, before: 2.03, line: 5.8, sides: -3.29, falls: -3.1, added: 1.51, lost: -3.01, end: 1.97}
)

// linkTerms is what is seen of a link, in one direction, that others may wait for.
type linkTerms struct {
	before float64 // log of what stalls before it
	most   float64 // log of that as a share of what stalls before the link where most does
	stalls float64 // how much it does itself: then what waits is for something behind it
	use    float64 // log of what it carries
	grew   float64 // what it carries beyond what it did before the onset
	lost   float64 // the share of that which it lost
}

// nodeTerms is what is seen of a switch's nodes.
type nodeTerms struct {
	nodes  float64 // that it is nodes, and no link
	before float64 // log of what stalls before them
	line   float64 // what the switch's links of the last dimension stall, over which traffic arrives that ends there
	sides  float64 // what its others do, whose traffic may go on
	falls  float64 // by how much the links before it on its line stall less than those at it
	added  float64 // what stalled links carry beyond what they did before the onset, of where that is most
	lost   float64 // share of what its links carried before the onset that they do not now
	end    float64 // that the tree of the region's senders leads to it, or traffic meets there
}

// rateLinks rates the links, either way.
func (e *endings) rateLinks(places []rated, p *Pressure) []rated {
	most := 0.
	for i := range e.links {
		most = max(most, e.before[2*i], e.before[2*i+1])
	}
	w := &linkWeights
	for i, l := range e.links {
		use, was := e.use[i], e.was[i]
		lost := 0.
		if was > LeastUse/100. {
			lost = max(0, was-use) / was
		}
		alike := w.stalls*e.stall[i] + w.use*shownLog(use) + w.grew*max(-.5, min(1, use-was)) + w.lost*lost
		for dir := range int32(2) {
			before := e.before[2*int32(i)+dir]
			places = append(places, rated{lost, l, e.endOf(l, 1-dir, p), e.endOf(l, dir, p), alike + w.before*shownLog(before) + w.most*shownLog(before/(most+.05))})
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
	w := &nodeWeights
	for i := range e.nodes {
		n := &e.nodes[i]
		score := w.nodes + w.before*shownLog(n.before) + w.line*n.line + w.sides*n.sides + w.falls*n.falls + w.added*n.added/(most+.05) + w.lost*n.lost
		if known && n.device == end {
			score += w.end
		}
		places = append(places, rated{0, schema.NoLink, n.device, n.device, score})
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
