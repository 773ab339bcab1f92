package routes

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// passage is what crosses a link of a grid from one of its ends, of an exchange of a job's nodes. What crosses a link of
// dimension k has its goal's place in the dimensions before k and its source's in those behind.
type passage struct {
	dim     int
	nodes   []topology.DeviceID // of the job, by runs
	sources []run               // by their coordinate in dim
	goals   []float64           // by coordinate in dim from which it comes, the nodes to which it goes
}

// passage finds what crosses a link between switches from one of its ends. It is valid until the next call.
func (g *Grid) passage(r *Set, l schema.LinkID, tail topology.DeviceID) passage {
	key := &g.keys[l]
	k := int(key.dim)
	p := passage{dim: k, nodes: r.nodes[k].from.devices}
	sources, goals := r.nodes[k].from.with(key.behind), r.nodes[k].to.with(key.before)
	if len(sources) < 2 || len(goals) < 2 {
		return p
	}
	from, to := g.graph.Ends(l)
	if from == tail {
		from = to
	}
	size := g.shape.Dims[k]
	g.counts = append(g.counts[:0], make([]float64, 2*size)...)
	p.sources, p.goals = sources, g.counts[:size]
	g.cross(p.goals, g.counts[size:], goals, k, g.coord(tail, k), g.coord(from, k))
	return p
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

// cross adds up, by coordinate in dimension k from which it comes, the nodes to which the way crosses from at to its neighbour,
// of those in runs. The way to a node crosses from so many switches before the link: farthest is scratch for how many nodes
// there are by the farthest of them.
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

// lineNodes are the nodes of a job by the lines of one dimension of a grid, for what crosses a link of it: that goes
// to nodes with the link's place in the dimensions before, and comes from nodes with its place in those behind.
type lineNodes struct {
	to   placed // by place in the dimensions before, and coordinate
	from placed // by place in those behind, and coordinate
}

// placed are nodes by their place without one dimension, and by their coordinate in that.
type placed struct {
	devices []topology.DeviceID
	runs    []run // of devices, ascending; the last one ends the list
}

// run are the nodes that have a place and coordinate: from first to before the first of the next run.
type run struct{ place, at, first int32 }

// with are the runs that have a place, and the one behind them.
func (p *placed) with(place int32) []run {
	runs := p.runs[p.lower(place):]
	n := 0
	for runs[n].place == place {
		n++
	}
	return runs[:n+1]
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

// place sorts devices, of which are known the places without a dimension, and their coordinates in that.
func place(nodes []node) placed {
	slices.SortFunc(nodes, func(a, b node) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.at, b.at)) })
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
