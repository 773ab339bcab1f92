package routes

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Passage is the traffic of a job's all-to-all exchange that crosses a link of a grid from one of its ends. For a link
// of dimension k, the goals have the link's place in the dimensions before k, and the sources have it in those after k.
type Passage struct {
	grid    *Grid
	dim     int
	tail    int32           // number of the switch that it crosses from
	nodes   []lineNodes     // of the job
	behind  []schema.Bitmap // places of the job's nodes, as Set.suffix
	sources []run           // runs of nodes[dim].from, by coordinate in dim
	from    []float64       // number of sources, by that coordinate
	goals   []float64       // by source coordinate in dim: the goals reached over the link
}

// Passage returns the traffic that crosses a link between switches from its end tail. It is valid until the next call.
func (g *Grid) Passage(r *Set, l schema.LinkID, tail topology.DeviceID) Passage {
	key := &g.keys[l]
	k := int(key.dim)
	p := Passage{grid: g, dim: k, tail: g.numbers[tail], nodes: r.nodes, behind: r.suffix}
	sources, goals := r.nodes[k].from.with(key.behind), r.nodes[k].to.with(key.before)
	if len(sources) < 2 || len(goals) < 2 {
		return p
	}
	size := g.shape.Dims[k]
	g.counts = append(g.counts[:0], make([]float64, 3*size)...)
	p.sources, p.from, p.goals = sources, g.counts[:size], g.counts[size:2*size]
	for i, next := range sources[1:] {
		p.from[sources[i].at] = float64(next.first - sources[i].first)
	}
	g.cross(p.goals, g.counts[2*size:], goals, k, g.coord(tail, k), g.coord(g.graph.OtherEnd(l, tail), k))
	return p
}

// IsEmpty reports whether no traffic of the exchange crosses.
func (p *Passage) IsEmpty() bool { return len(p.sources) == 0 }

// Over counts the routes of a passage that use a link before they cross. They have resolved the dimensions before that
// link's, and their sources have its place in those after: nodes are counted, no route is followed.
func (p *Passage) Over(l schema.LinkID) float64 {
	g := p.grid
	key := &g.keys[l]
	dim, k := int(key.dim), len(g.shape.Dims)
	if len(p.sources) == 0 || key.low < 0 || dim > p.dim {
		return 0
	}
	at, goal := g.coords[int(key.low)*k:][:k], g.coords[int(p.tail)*k:][:k]
	if dim < p.dim && p.goals[at[p.dim]] == 0 || !slices.Equal(at[:dim], goal[:dim]) ||
		!slices.Equal(at[p.dim+1:], goal[p.dim+1:]) {
		return 0
	}
	if !p.behind[dim].Has(int(key.behind)) {
		return 0
	}
	first, last := g.beyond(dim, int(at[dim]), int(goal[dim]))
	if dim < p.dim {
		if first <= last {
			return p.goals[at[p.dim]] * float64(p.nodes[dim].from.on(key.behind, first, last, g.shape.Dims[dim]))
		}
		return 0
	}
	sum := 0.
	for x := first; x <= last; x++ {
		at := wrapped(x, g.shape.Dims[dim])
		sum += p.goals[at] * p.from[at]
	}
	return sum
}

// beyond returns the coordinates from which routes to goal take the link from low in + direction: first to last, which
// may wrap round the end of the line; none if last < first.
func (g *Grid) beyond(dim, low, goal int) (first, last int) {
	size, arcs := g.shape.Dims[dim], g.arcs[dim][goal]
	if steps := wrapped(goal-low, size); steps > 0 && steps <= arcs.ahead {
		return goal - arcs.ahead, goal - steps
	}
	if steps := wrapped(low+1-goal, size); steps > 0 && steps <= arcs.back {
		return goal + steps, goal + arcs.back
	}
	return 0, -1
}

// wrapped maps a coordinate less than size outside a line back onto it.
func wrapped(x, size int) int {
	switch {
	case x < 0:
		return x + size
	case x >= size:
		return x - size
	}
	return x
}

// cross fills goals: by source coordinate in dimension k, the number of nodes whose route crosses the link from at to
// next. A node is reached over it from the sources up to some distance before the link; the scratch farthest counts
// nodes by that distance.
func (g *Grid) cross(goals, farthest []float64, nodes []run, k, at, next int) {
	size := g.shape.Dims[k]
	ahead := (at+1)%size == next
	for i, after := range nodes[1:] {
		n := &nodes[i]
		steps, reach := wrapped(int(n.at)-at, size), g.arcs[k][n.at].ahead
		if !ahead {
			steps, reach = wrapped(at-int(n.at), size), g.arcs[k][n.at].back
		}
		if steps > 0 && steps <= reach {
			farthest[reach-steps] += float64(after.first - n.first)
		}
	}
	sum := 0.
	for before := size - 1; before >= 0; before-- {
		x := wrapped(at-before, size)
		if !ahead {
			x = wrapped(at+before, size)
		}
		sum += farthest[before]
		goals[x] = sum
	}
}

// lineNodes are the nodes of a job by the lines of one dimension of a grid. Traffic that crosses a link of it goes to
// nodes with the link's place in the dimensions before, and comes from nodes with its place in those after.
type lineNodes struct {
	to   placed // by place in the dimensions before, then coordinate
	from placed // by place in the dimensions after, then coordinate
}

// placed are nodes sorted by their place without one dimension, then by their coordinate in it.
type placed struct {
	devices []topology.DeviceID
	runs    []run // of devices, ascending; the last one is a sentinel
}

// run is the nodes with one place and coordinate: devices from first up to the first of the next run.
type run struct{ place, at, first int32 }

// with returns the runs of a place, and the run after them.
func (p *placed) with(place int32) []run {
	runs := p.runs[p.lower(place):]
	n := 0
	for runs[n].place == place {
		n++
	}
	return runs[:n+1]
}

// on counts the nodes of a place from coordinate first to last on a line of a size, which may wrap round its end.
func (p *placed) on(place int32, first, last, size int) (count int32) {
	runs, start := p.with(place), wrapped(first, size)
	for i, next := range runs[1:] {
		if wrapped(int(runs[i].at)-start, size) <= last-first {
			count += next.first - runs[i].first
		}
	}
	return count
}

// lower is the index of the first run that is not before a place.
func (p *placed) lower(place int32) int {
	from, to := 0, len(p.runs)-1
	for from < to {
		if mid := (from + to) / 2; p.runs[mid].place < place {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from
}

// newPlaced sorts nodes and groups them into runs.
func newPlaced(nodes []node) placed {
	slices.SortFunc(nodes, func(a, b node) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.at, b.at))
	})
	p := placed{devices: make([]topology.DeviceID, len(nodes))}
	for i, n := range nodes {
		p.devices[i] = n.device
		if i == 0 || n.place != nodes[i-1].place || n.at != nodes[i-1].at {
			p.runs = append(p.runs, run{n.place, n.at, int32(i)})
		}
	}
	p.runs = append(p.runs, run{math.MaxInt32, 0, int32(len(nodes))})
	return p
}

// node is a device, its place without one dimension, and its coordinate in that.
type node struct {
	place, at int32
	device    topology.DeviceID
}
