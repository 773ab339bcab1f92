package diagnose

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// tree adds up the routes that lead from many switches of a grid to one, by number of the switch. Under
// dimension-order routing those that meet go on together, so that each link of the tree is visited once.
type tree struct {
	routes  []float64 // that stand at a switch
	at      []int32   // the switches with any
	waiting [][]int32 // of these, by how far they have to go in a dimension
}

func newTree(switches int) tree { return tree{routes: make([]float64, switches)} }

// send lets routes begin at a switch.
func (t *tree) send(from int32, routes float64) {
	if t.routes[from] == 0 {
		t.at = append(t.at, from)
	}
	t.routes[from] += routes
}

// converge leads all routes that were sent to a switch and adds them to the links on their way. In dimensions from
// dims on they are there already.
func (t *gridLinks) converge(end topology.DeviceID, dims int, h *held) {
	goal, stride := t.graph.Device(end).Coord, 1
	for dim, size := range t.grid.Dims[:dims] {
		t.alongDimension(dim, stride, goal[dim], h)
		stride *= size
	}
	for _, at := range h.at {
		h.routes[at] = 0
	}
	h.at = h.at[:0]
}

// alongDimension leads the routes to a coordinate, the farthest first, so that those on the way join them.
func (t *gridLinks) alongDimension(dim, stride, goal int, h *held) {
	size, k, ways := t.grid.Dims[dim], len(t.grid.Dims), t.ways[dim]
	for len(h.waiting) <= size {
		h.waiting = append(h.waiting, nil)
	}
	farthest := 0
	for _, at := range h.at {
		steps := int(ways[int(t.coords[int(at)*k+dim])*size+goal])
		steps = max(steps, -steps)
		h.waiting[steps] = append(h.waiting[steps], at)
		farthest = max(farthest, steps)
	}
	for steps := farthest; steps > 0; steps-- {
		for _, at := range h.waiting[steps] {
			x := int(t.coords[int(at)*k+dim])
			to, tail := int(at), int(at)
			if ways[x*size+goal] > 0 {
				if to += stride; x == size-1 {
					to -= size * stride
				}
			} else {
				if to -= stride; x == 0 {
					to += size * stride
				}
				tail = to
			}
			if l := t.next[tail*k+dim]; l != schema.NoLink {
				h.add(l, h.routes[at])
			}
			if h.routes[to] == 0 {
				h.waiting[steps-1] = append(h.waiting[steps-1], int32(to))
			}
			h.routes[to] += h.routes[at]
			h.routes[at] = 0
		}
		h.waiting[steps] = h.waiting[steps][:0]
	}
	h.at = append(h.at[:0], h.waiting[0]...)
	h.waiting[0] = h.waiting[0][:0]
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
