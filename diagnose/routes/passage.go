package routes

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Passage is what crosses a link of a grid from one of its ends, of an exchange of a job's nodes. What crosses a link of
// dimension k has its goal's place in the dimensions before k and its source's in those behind.
type Passage struct {
	grid    *Grid
	dim     int
	tail    int32           // number of the switch from which it crosses
	nodes   []lineNodes     // of the job
	behind  []schema.Bitmap // their places, as Set.suffix
	sources []placed        // with their coordinate in dim
	from    []float64       // how many of them there are by that coordinate
	goals   []float64       // by coordinate in dim from which it comes, the nodes to which it goes
}

// Passage finds what crosses a link between switches from one of its ends. It is valid until the next call.
func (g *Grid) Passage(r *Set, l schema.LinkID, tail topology.DeviceID) Passage {
	key := &g.keys[l]
	k := int(key.dim)
	p := Passage{grid: g, dim: k, tail: g.numbers[tail], nodes: r.nodes, behind: r.suffix}
	sources, goals := with(r.nodes[k].from, key.behind), with(r.nodes[k].to, key.before)
	if len(sources) == 0 || len(goals) == 0 {
		return p
	}
	from, to := g.graph.Ends(l)
	if from == tail {
		from = to
	}
	size := g.shape.Dims[k]
	g.counts = append(g.counts[:0], make([]float64, 3*size)...)
	p.sources, p.from, p.goals = sources, g.counts[:size], g.counts[size:2*size]
	count(p.from, sources)
	count(g.counts[2*size:], goals)
	g.cross(p.goals, g.counts[2*size:], k, g.coord(tail, k), g.coord(from, k))
	return p
}

// Over is how many routes of a passage go over a link before they cross. They have resolved the dimensions before the
// link's, and come from where it lies in those behind: a count of nodes, and no route is followed.
func (p *Passage) Over(l schema.LinkID) float64 {
	g := p.grid
	key := &g.keys[l]
	dim, k := int(key.dim), len(g.shape.Dims)
	if len(p.sources) == 0 || key.low < 0 || dim > p.dim {
		return 0
	}
	at, goal := g.coords[int(key.low)*k:][:k], g.coords[int(p.tail)*k:][:k]
	for d := range k {
		if (d < dim || d > p.dim) && at[d] != goal[d] {
			return 0
		}
	}
	if !p.behind[dim].Has(int(key.behind)) {
		return 0
	}
	first, last := g.beyond(dim, int(at[dim]), int(goal[dim]))
	if dim < p.dim {
		if routes := p.goals[at[p.dim]]; routes > 0 && first <= last {
			return routes * float64(g.nodesOn(p.nodes[dim].from, dim, key.behind, first, last))
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

// beyond are the coordinates of a line, from first to last and round its end, from which routes to a goal take the link
// that leads from low in + direction; none if last is before first.
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

// wrapped is a coordinate that is less than a size beyond either end of a line.
func wrapped(x, size int) int {
	switch {
	case x < 0:
		return x + size
	case x >= size:
		return x - size
	}
	return x
}

// nodesOn counts the nodes with a place that lie from first to last on a line, and round its end.
func (g *Grid) nodesOn(nodes []placed, dim int, place int32, first, last int) int {
	size := g.shape.Dims[dim]
	start := wrapped(first, size)
	first, last = start, last+start-first
	count := lower(nodes, place, int32(min(last+1, size))) - lower(nodes, place, int32(first))
	if last >= size {
		count += lower(nodes, place, int32(last-size+1)) - lower(nodes, place, 0)
	}
	return count
}

// count counts nodes of one place by their coordinate.
func count(by []float64, nodes []placed) {
	for _, n := range nodes {
		by[n.at]++
	}
}

// cross adds up, by coordinate in dimension k from which it comes, the nodes to which the way crosses from at to its neighbour,
// of those that are at each coordinate.
func (g *Grid) cross(goals, nodes []float64, k, at, next int) {
	size := g.shape.Dims[k]
	ways, ahead := g.ways[k], (at+1)%size == next
	for y, n := range nodes {
		if n == 0 {
			continue
		}
		x := at
		for before := 0; before < size; before++ { // so many switches before the link
			steps := int(ways[x*size+y])
			if ahead && steps <= before || !ahead && -steps <= before {
				break
			}
			goals[x] += n
			if x--; !ahead {
				x += 2
			}
			x = (x + size) % size
		}
	}
}

// lineNodes are the nodes of a job by the lines of one dimension of a grid, for what crosses a link of it: that goes
// to nodes with the link's place in the dimensions before, and comes from nodes with its place in those behind.
type lineNodes struct {
	to   []placed // by place in the dimensions before, and coordinate
	from []placed // by place in those behind, and coordinate
}

// placed is a node, its place without one dimension, and its coordinate in that.
type placed struct {
	place, at int32
	device    topology.DeviceID
}

// with are the nodes that have a place.
func with(nodes []placed, place int32) []placed {
	nodes = nodes[lower(nodes, place, 0):]
	return nodes[:lower(nodes, place+1, 0)]
}

// lower is the index of the first node that is not before a place and coordinate.
func lower(nodes []placed, place, at int32) int {
	from, to := 0, len(nodes)
	for from < to {
		mid := (from + to) / 2
		if n := &nodes[mid]; n.place < place || n.place == place && n.at < at {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from
}
