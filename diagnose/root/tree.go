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

func (r *reading) all() [measures]float64 { return [measures]float64{r.held, r.added, r.waits} }

// grewShare is the share of a region's load added since its onset from which on the added load shows where it goes;
// below, only what is held back does.
const grewShare = .25

// leastFree is the least share of time that a link is taken not to send; with less, the ratio is noise.
const leastFree = .1

// sendersTo are the switches from which clearly more traffic leads towards end than arrives at them: by half of the
// median excess or more. They are valid until the next call.
func (g *treeFits) sendersTo(end topology.DeviceID) []topology.DeviceID {
	for _, d := range g.devices {
		g.sent[d] = 0
	}
	for _, l := range g.links {
		r := g.look(l)
		if r.dim < 0 {
			continue
		}
		from, to := g.grid.Leading(l, end)
		g.sent[from] += r.held
		g.sent[to] -= r.held
	}
	var own []float64
	for _, d := range g.devices {
		if v := g.sent[d]; v > 0 {
			own = append(own, v)
		}
	}
	if len(own) == 0 {
		return nil
	}
	slices.Sort(own)
	median := (own[len(own)/2] + own[(len(own)-1)/2]) / 2
	g.senders = g.senders[:0]
	for _, d := range g.devices {
		if d != end && g.sent[d] > median/2 {
			g.senders = append(g.senders, d)
		}
	}
	return g.senders
}

// ends lists the switches at which a tree can end that has most of what is held back, or more than any other if none
// has most. Its links of the last dimension lie on one line, those of the dimension before in one plane, and so on; it
// can end anywhere on that line. ends reports whether a tree has most.
func (g *treeFits) ends() (out []topology.DeviceID, hasMost bool) {
	total := 0.
	lines := g.linesOf(g.grid.Dims())
	for _, l := range g.links {
		r := g.look(l)
		dim, held := r.dim, r.held
		if dim < 0 {
			continue
		}
		total += held
		if from, _ := g.p.graph.Ends(l); dim <= g.last {
			lines[dim][g.place(from, dim)] += held
		}
	}
	if total == 0 {
		return nil, false
	}
	type end struct {
		line  routes.Line // through any of its switches
		share float64
	}
	var best []end
	var most end // the best if traffic ends on several lines
	for _, d := range g.devices {
		sum := 0.
		for dim := range g.last + 1 {
			sum += lines[dim][g.place(d, dim)]
		}
		if sum > most.share {
			most = end{g.grid.Line(d, g.last), sum}
		}
		if sum >= inTree*total && !slices.ContainsFunc(best, func(e end) bool { return e.line.Has(d) }) {
			best = append(best, end{g.grid.Line(d, g.last), sum})
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

// findLast finds the last dimension in which a region's traffic travels: if it ends in a plane, or on a line of an
// earlier dimension, no link of a later one stalls.
func (g *regionReadings) findLast() {
	g.last = 0
	for _, l := range g.links {
		if r := g.look(l); r.dim > g.last && r.stall >= g.least {
			g.last = r.dim
		}
	}
}

// place is the place of a switch in the dimensions before dim, and in those after the last in which traffic travels.
func (g *treeFits) place(d topology.DeviceID, dim int) int {
	at, dims := g.grid.PlaceBefore(d, dim), g.grid.Dims()
	if g.last == len(dims)-1 {
		return at
	}
	behind := g.grid.PlaceBehind(d, g.last)
	for _, size := range dims[:dim] {
		behind *= size
	}
	return at + behind
}

// linesOf returns zeroed sums by dimension, up to the last in which traffic travels, and by place.
func (g *treeFits) linesOf(dims []int) [][]float64 {
	places, behind := 1, 1
	for _, size := range dims[g.last+1:] {
		behind *= size
	}
	for d, size := range dims[:g.last+1] {
		if len(g.lines) == d {
			g.lines = append(g.lines, nil)
		}
		g.lines[d] = slices.Grow(g.lines[d][:0], places*behind)[:places*behind]
		clear(g.lines[d])
		places *= size
	}
	return g.lines
}

// treeFit is how well readings agree with the routes of senders to a switch.
func (g *treeFits) treeFit(senders []topology.DeviceID, end topology.DeviceID) float64 {
	g.tree.Gather(senders, end)
	held := min(1, 2*g.heldAt(end))
	if g.grew {
		cosine := g.cosines()
		return held * (cosine[addedTo] + cosine[waiting]) / 2
	}
	line, cosine := g.lastLine(end), g.cosines()
	amounts := line.share*line.profile + (1-line.share)*cosine[heldOn]
	return held*(amounts+cosine[waiting])/2 + inqWeight*line.inq
}

// heldAt is the share of a tree's routes that reach its end over stalled links: what a switch does not accept waits on
// the last links before it.
func (g *treeFits) heldAt(end topology.DeviceID) float64 {
	all, stalled := 0., 0.
	for _, l := range g.p.graph.LinksAt(end) {
		n := g.tree.Load[l]
		if all += n; n > 0 && g.look(l).stall >= stalledPercent {
			stalled += n
		}
	}
	if all == 0 {
		return 0
	}
	return stalled / all
}

// agreement is how well readings agree with the current tree.
func (g *treeFits) agreement() float64 {
	cosine := g.cosines()
	return (max(cosine[heldOn], cosine[addedTo]) + cosine[waiting]) / 2
}

// cosines compares the number of a tree's routes over each link with what is held back on it and with what was added to
// it, and the links with routes with those that wait. It resets the tree.
func (g *treeFits) cosines() (out [measures]float64) {
	var dot [measures]float64
	squares, loads, count := g.squares, 0., float64(len(g.tree.Links))
	for _, l := range g.tree.Links {
		n, at := g.tree.Load[l], g.look(l)
		if !g.inside.Has(l) {
			squares[heldOn] += at.held * at.held
			squares[addedTo] += at.added * at.added
			squares[waiting] += at.waits * at.waits
		}
		dot[heldOn] += n * at.held
		dot[addedTo] += n * at.added
		dot[waiting] += at.waits
		loads += n * n
	}
	g.tree.Reset()
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

// lastLine compares the current tree with the line through its end.
func (g *treeFits) lastLine(end topology.DeviceID) (f lineFit) {
	line := g.grid.Line(end, g.last)
	dot, loads, squares, sum := 0., 0., 0., 0.
	most, here := 0., 0.
	for x := range line.Size {
		l := line.Link(x-line.X, 1)
		if l == schema.NoLink {
			continue
		}
		n, o := g.tree.Load[l], g.look(l)
		dot, loads, squares, sum = dot+n*o.held, loads+n*n, squares+o.held*o.held, sum+o.held
		if g.p.Inq != nil && g.p.Inq.Valid.Has(int(l)) {
			v := float64(g.p.Inq.Values[l])
			most = max(most, v)
			if x == line.X || (x+1)%line.Size == line.X {
				here += v / 2
			}
		}
	}
	if loads*squares > 0 && g.sum > 0 {
		f.profile, f.share = dot/math.Sqrt(loads*squares), min(1, sum/g.sum/lineShare)
	}
	if most > 0 {
		f.inq = here / most
	}
	return f
}

// Converging is how well the load added to a region and its surroundings agrees with equal traffic from some switches
// to one, 0 to 1: the cosine similarity of the number of routes over each link and the load added to it, times the
// share of that traffic, at the rate at which it arrives at the end, that the links on its way carry. Links show the
// busier of two directions, so that less may seem added than was, but a link cannot carry less than what is sent over
// it.
func (g *GridRegion) Converging(senders []topology.DeviceID, end topology.DeviceID) float64 {
	g.check()
	if g.grid == nil || len(senders) < leastSenders {
		return 0
	}
	g.tree.Gather(senders, end)
	defer g.tree.Reset()
	arrives, routes := 0., 0.
	for _, l := range g.p.graph.LinksAt(end) {
		if n := g.tree.Load[l]; n > 0 {
			arrives, routes = arrives+g.look(l).added, routes+n
		}
	}
	if arrives == 0 {
		return 0
	}
	each, dot, loads, squares, sent, seen := arrives/routes, 0., 0., g.squares[addedTo], 0., 0.
	for _, l := range g.tree.Links {
		n, at := g.tree.Load[l], g.look(l)
		if !g.inside.Has(l) {
			squares += at.added * at.added
		}
		dot, loads = dot+n*at.added, loads+n*n
		sent, seen = sent+n*each, seen+min(at.carries, n*each)
	}
	return dot / math.Sqrt(loads*squares) * seen / sent
}
