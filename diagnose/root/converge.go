package root

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// The readings that are compared with a tree.
const (
	heldOn = iota
	addedTo
	waiting
	measures
)

// held caches what the links of one region and of the candidate trees show. Sums run in the order of the region's links; the
// arrays are reused by the next region.
type held struct {
	round    uint32    // of the region
	p        *Pressure // pressure of the region taken last
	readings lookup[schema.LinkID, reading]
	line     onLine
	links    []schema.LinkID // of the region
	squares  [measures]float64
	sum      float64 // traffic held back on the region, bytes/s
	most     float64 // highest stall of its links, percent, at least 1
	least    float64 // stall, percent, from which on a link counts as stalled
	grew     bool    // load was added on the region

	grid    *routes.Grid
	tree    *routes.InTree // that is tried
	tried   []uint32       // by link: round in which it was tried as a neck
	lines   [][]float64
	last    int       // last dimension in which the region's traffic travels
	sent    []float64 // by device
	senders []topology.DeviceID
	devices []topology.DeviceID // at the region's links, ascending
	met     []uint32            // by device: round in which it is one of devices
	scores  []float64           // by candidate end: score of how well traffic merges there
	tries   []Meeting           // the candidate ends
	arrived []float64           // by candidate end: what arrives there
	trees   []knownTree         // the candidate trees

	// The candidate that each stalled link waits for: a flow is held back the more, the more waits for the link it is held up by,
	// so that it is the candidate with the most routes over both, weighted by that.
	claimant int             // that is tried
	urgency  float64         // share of time that packets wait for the current candidate
	claims   []claim         // by link
	stalled  []schema.LinkID // of the region
	claimed  []schema.LinkID
	counts   []int // by claimant: number of links claimed
	necks    []Neck
}

// newHeld returns an empty cache; grid is nil if the graph is not a grid.
func newHeld(g *topology.Graph, grid *routes.Grid) held {
	n := g.NumLinks()
	h := held{grid: grid, readings: newLookup[schema.LinkID, reading](n), tried: make([]uint32, n), claims: make([]claim, n), sent: make([]float64, g.NumDevices()), met: make([]uint32, g.NumDevices())}
	if grid != nil {
		h.tree = grid.NewInTree()
	}
	return h
}

// take loads the links of a region.
func (h *held) take(links []schema.LinkID, p *Pressure) {
	h.p = p
	h.round++
	h.links, h.squares = append(h.links[:0], links...), [measures]float64{}
	added, carried := 0., 0.
	h.sum, h.most = 0, 1
	h.tries, h.scores, h.arrived, h.trees = h.tries[:0], h.scores[:0], h.arrived[:0], h.trees[:0]
	for _, l := range links {
		at := h.look(l)
		h.most = max(h.most, at.stall)
		at.in = h.round
		for m, v := range at.all() {
			h.squares[m] += v * v
		}
		h.sum, added, carried = h.sum+at.held, added+at.added, carried+at.carries
	}
	h.grew = added > grewShare*carried
	h.least = min(lineStall, mostStalled*h.most)
	h.findLast()
}

func (r *reading) all() [measures]float64 { return [measures]float64{r.held, r.added, r.waits} }

// grewShare is the share of a region's load added since its onset from which on the added load shows where it goes; below, only
// what is held back does.
const grewShare = .25

// leastFree is the least share of time that a link is taken not to send; with less, the ratio is noise.
const leastFree = .1

// heldBack estimates the traffic that waits on a link, from its load and the share of time that it stalls: of an offered load o
// the share s is held back and (1-s)o is carried.
func (p *Pressure) heldBack(l schema.LinkID) float64 {
	stall := p.stallShare(l)
	return p.Carries(l) * stall / (1 - stall)
}

// sendersTo are the switches from which clearly more traffic leads towards end than arrives at them: by half of the median excess
// or more. They are valid until the next call.
func (h *held) sendersTo(end topology.DeviceID) []topology.DeviceID {
	for _, d := range h.devices {
		h.sent[d] = 0
	}
	for _, l := range h.links {
		r := h.look(l)
		if r.dim < 0 {
			continue
		}
		from, to := h.grid.Leading(l, end)
		h.sent[from] += r.held
		h.sent[to] -= r.held
	}
	var own []float64
	for _, d := range h.devices {
		if v := h.sent[d]; v > 0 {
			own = append(own, v)
		}
	}
	if len(own) == 0 {
		return nil
	}
	slices.Sort(own)
	median := (own[len(own)/2] + own[(len(own)-1)/2]) / 2
	h.senders = h.senders[:0]
	for _, d := range h.devices {
		if d != end && h.sent[d] > median/2 {
			h.senders = append(h.senders, d)
		}
	}
	return h.senders
}

// ends lists the switches at which a tree can end that has most of what is held back, or more than any other if none has most.
// Its links of the last dimension lie on one line, those of the dimension before in one plane, and so on; it can end anywhere on
// that line. ends reports whether a tree has most, and records the switches at any of the links, ascending.
func (h *held) ends(p *Pressure) (out []topology.DeviceID, hasMost bool) {
	total := 0.
	lines := h.linesOf(h.grid.Dims())
	h.devices = h.devices[:0]
	for _, l := range h.links {
		r := h.look(l)
		dim, held := r.dim, r.held
		if dim < 0 {
			continue
		}
		total += held
		from, to := p.graph.Ends(l)
		for _, d := range [2]topology.DeviceID{from, to} {
			if h.met[d] != h.round {
				h.met[d] = h.round
				h.devices = append(h.devices, d)
			}
		}
		if dim <= h.last {
			lines[dim][h.place(from, dim)] += held
		}
	}
	slices.Sort(h.devices)
	if total == 0 {
		return nil, false
	}
	type end struct {
		line  routes.Line // through any of its switches
		share float64
	}
	var best []end
	var most end // the best if traffic ends on several lines
	for _, d := range h.devices {
		sum := 0.
		for dim := range h.last + 1 {
			sum += lines[dim][h.place(d, dim)]
		}
		if sum > most.share {
			most = end{h.grid.Line(d, h.last), sum}
		}
		if sum >= inTree*total && !slices.ContainsFunc(best, func(e end) bool { return e.line.Has(d) }) {
			best = append(best, end{h.grid.Line(d, h.last), sum})
		}
	}
	hasMost = len(best) > 0
	if !hasMost {
		best = append(best, most)
	}
	slices.SortStableFunc(best, func(a, b end) int { return cmp.Compare(b.share, a.share) })
	for _, e := range best {
		for x := range e.line.Size {
			if len(out) < drainEnds {
				out = append(out, e.line.Device(x-e.line.X))
			}
		}
	}
	return out, hasMost
}

// findLast finds the last dimension in which a region's traffic travels: if it ends in a plane, or on a line of an earlier
// dimension, no link of a later one stalls.
func (h *held) findLast() {
	h.last = 0
	for _, l := range h.links {
		if r := h.look(l); r.dim > h.last && r.stall >= h.least {
			h.last = r.dim
		}
	}
}

// place is the place of a switch in the dimensions before dim, and in those after the last in which traffic travels.
func (h *held) place(d topology.DeviceID, dim int) int {
	at, dims := h.grid.PlaceBefore(d, dim), h.grid.Dims()
	if h.last == len(dims)-1 {
		return at
	}
	behind := h.grid.PlaceBehind(d, h.last)
	for _, size := range dims[:dim] {
		behind *= size
	}
	return at + behind
}

// linesOf returns zeroed sums by dimension, up to the last in which traffic travels, and by place.
func (h *held) linesOf(dims []int) [][]float64 {
	places, behind := 1, 1
	for _, size := range dims[h.last+1:] {
		behind *= size
	}
	for d, size := range dims[:h.last+1] {
		if len(h.lines) == d {
			h.lines = append(h.lines, nil)
		}
		h.lines[d] = slices.Grow(h.lines[d][:0], places*behind)[:places*behind]
		clear(h.lines[d])
		places *= size
	}
	return h.lines
}

// treeFit is how well readings agree with the routes of senders to a switch.
func (h *held) treeFit(senders []topology.DeviceID, end topology.DeviceID, p *Pressure) float64 {
	h.tree.Gather(senders, end)
	held := min(1, 2*h.heldAt(end, p))
	var line lineFit
	if !h.grew {
		line = h.lastLine(end, p)
	}
	if h.grew {
		cosine := h.cosines()
		return held * (cosine[addedTo] + cosine[waiting]) / 2
	}
	cosine := h.cosines()
	amounts := line.share*line.profile + (1-line.share)*cosine[heldOn]
	return held*(amounts+cosine[waiting])/2 + inqWeight*line.inq
}

// heldAt is the share of a tree's routes that reach its end over stalled links: what a switch does not accept waits on the last
// links before it.
func (h *held) heldAt(end topology.DeviceID, p *Pressure) float64 {
	all, stalled := 0., 0.
	for _, l := range p.graph.LinksAt(end) {
		n := h.tree.Load[l]
		if all += n; n > 0 && h.look(l).stall >= stalledPercent {
			stalled += n
		}
	}
	if all == 0 {
		return 0
	}
	return stalled / all
}

// agreement is how well readings agree with the current tree.
func (h *held) agreement() float64 {
	cosine := h.cosines()
	return (max(cosine[heldOn], cosine[addedTo]) + cosine[waiting]) / 2
}

// cosines compares the number of a tree's routes over each link with what is held back on it and with what was added to it, and
// the links with routes with those that wait. It resets the tree.
func (h *held) cosines() (out [measures]float64) {
	var dot [measures]float64
	squares, loads, count := h.squares, 0., float64(len(h.tree.Links))
	for _, l := range h.tree.Links {
		n, at := h.tree.Load[l], h.look(l)
		if at.in != h.round {
			squares[heldOn] += at.held * at.held
			squares[addedTo] += at.added * at.added
			squares[waiting] += at.waits * at.waits
		}
		dot[heldOn] += n * at.held
		dot[addedTo] += n * at.added
		dot[waiting] += at.waits
		loads += n * n
	}
	h.tree.Reset()
	for m, of := range [measures]float64{loads, loads, count} {
		if of*squares[m] > 0 {
			out[m] = dot[m] / math.Sqrt(of*squares[m])
		}
	}
	return out
}

// inqWeight is the weight, beside a tree's fit, of what waits inside the switches at its end: links alone often cannot
// distinguish two neighbours on a line.
const inqWeight = .05

// lineFit is what the links of the last dimension show about where a tree ends: all its traffic merges on them.
type lineFit struct {
	profile float64 // cosine of the number of routes over them with what is held back
	share   float64 // weight of profile: 1 if enough of what the region holds back is there
	inq     float64 // what waits inside the switches at the end, relative to the most on the line
}

// lineShare is the share of what a region holds back that on a line gives its profile full weight.
const lineShare = .04

func (h *held) lastLine(end topology.DeviceID, p *Pressure) (f lineFit) {
	line := h.grid.Line(end, h.last)
	dot, loads, squares, sum := 0., 0., 0., 0.
	most, here := 0., 0.
	for x := range line.Size {
		l := line.Link(x-line.X, 1)
		if l == schema.NoLink {
			continue
		}
		n, o := h.tree.Load[l], h.look(l)
		dot, loads, squares, sum = dot+n*o.held, loads+n*n, squares+o.held*o.held, sum+o.held
		if p.Inq != nil && p.Inq.Valid.Has(int(l)) {
			v := float64(p.Inq.Values[l])
			most = max(most, v)
			if x == line.X || (x+1)%line.Size == line.X {
				here += v / 2
			}
		}
	}
	if loads*squares > 0 && h.sum > 0 {
		f.profile, f.share = dot/math.Sqrt(loads*squares), min(1, sum/h.sum/lineShare)
	}
	if most > 0 {
		f.inq = here / most
	}
	return f
}
