package diagnose

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// passage is what crosses a link of a grid from one of its ends, of an exchange of a job's nodes. What crosses a link of
// dimension k has its goal's place in the dimensions before k and its source's in those behind.
type passage struct {
	dim     int
	tail    int32           // number of the switch from which it crosses
	nodes   []lineNodes     // of the job
	behind  []schema.Bitmap // their places, as routes.suffix
	sources []placed        // with their coordinate in dim
	goals   []float64       // by coordinate in dim from which it comes, the nodes to which it goes
}

// passageOf finds the passage over a link from one of its ends. Its goals are valid until the next call.
func (t *gridLinks) passageOf(r *routes, l schema.LinkID, tail topology.DeviceID, h *held) passage {
	key := &t.keys[l]
	k := int(key.dim)
	p := passage{dim: k, tail: t.numbers[tail], nodes: r.nodes, behind: r.suffix}
	sources, goals := with(r.nodes[k].from, key.behind), with(r.nodes[k].to, key.before)
	if len(sources) == 0 || len(goals) == 0 {
		return p
	}
	from, to := t.graph.Ends(l)
	if from == tail {
		from = to
	}
	t.crossings(goals, k, t.graph.Device(tail).Coord[k], t.graph.Device(from).Coord[k], h)
	p.sources, p.goals = sources, h.goals
	return p
}

// over is how many routes of a passage go over a link before they cross. They have resolved the dimensions before the
// link's, and come from where it lies in those behind: a count of nodes, and no route is followed.
func (t *gridLinks) over(p *passage, l schema.LinkID) float64 {
	key := &t.keys[l]
	dim, k := int(key.dim), len(t.grid.Dims)
	if len(p.sources) == 0 || key.low < 0 || dim > p.dim {
		return 0
	}
	at, goal := t.coords[int(key.low)*k:][:k], t.coords[int(p.tail)*k:][:k]
	for d := range k {
		if (d < dim || d > p.dim) && at[d] != goal[d] {
			return 0
		}
	}
	if !p.behind[dim].Has(int(key.behind)) {
		return 0
	}
	first, last := t.beyond(dim, int(at[dim]), int(goal[dim]))
	if dim < p.dim {
		if routes := p.goals[at[p.dim]]; routes > 0 && first <= last {
			return routes * float64(t.nodesOn(p.nodes[dim].from, dim, key.behind, first, last))
		}
		return 0
	}
	sum := 0.
	for x := first; x <= last; x++ {
		if routes := p.goals[wrapped(x, t.grid.Dims[dim])]; routes > 0 {
			sum += routes * float64(t.nodesOn(p.sources, dim, key.behind, x, x))
		}
	}
	return sum
}

// beyond are the coordinates of a line, from first to last and round its end, from which routes to a goal take the link
// that leads from low in + direction; none if last is before first.
func (t *gridLinks) beyond(dim, low, goal int) (first, last int) {
	size, arcs := t.grid.Dims[dim], t.arcs[dim][goal]
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
func (t *gridLinks) nodesOn(nodes []placed, dim int, place int32, first, last int) int {
	size := t.grid.Dims[dim]
	start := wrapped(first, size)
	first, last = start, last+start-first
	count := lower(nodes, place, int32(min(last+1, size))) - lower(nodes, place, int32(first))
	if last >= size {
		count += lower(nodes, place, int32(last-size+1)) - lower(nodes, place, 0)
	}
	return count
}
