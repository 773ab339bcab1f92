package diagnose

import (
	"cmp"
	"slices"

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

// converge leads all routes that were sent to a switch and adds them to the links on their way.
func (t *gridLinks) converge(end topology.DeviceID, h *held) {
	goal, stride := t.graph.Device(end).Coord, 1
	for dim, size := range t.grid.Dims {
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
	size, k := t.grid.Dims[dim], len(t.grid.Dims)
	for len(h.waiting) <= size {
		h.waiting = append(h.waiting, nil)
	}
	for _, at := range h.at {
		steps, _ := t.way(int(at)/stride%size, goal, size)
		h.waiting[steps] = append(h.waiting[steps], at)
	}
	for steps := size; steps > 0; steps-- {
		for _, at := range h.waiting[steps] {
			x := int(at) / stride % size
			next, tail := (x+1)%size, x
			if _, ahead := t.way(x, goal, size); !ahead {
				next = (x - 1 + size) % size
				tail = next
			}
			to := int(at) + (next-x)*stride
			if l := t.next[(int(at)+(tail-x)*stride)*k+dim]; l != schema.NoLink {
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
	to   []placed // by place in the dimensions before
	from []placed // by place in those behind
}

// placed is a node, its place without one dimension, and its coordinate in that.
type placed struct {
	place, at int32
	device    topology.DeviceID
}

// with are the nodes that have a place.
func with(nodes []placed, place int32) []placed {
	byPlace := func(n placed, place int32) int { return cmp.Compare(n.place, place) }
	first, _ := slices.BinarySearchFunc(nodes, place, byPlace)
	n, _ := slices.BinarySearchFunc(nodes[first:], place+1, byPlace)
	return nodes[first : first+n]
}
