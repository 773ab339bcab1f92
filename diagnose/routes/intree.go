package routes

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// InTree adds up the routes from many switches of a grid to one. Under dimension-order routing, routes that meet share
// the rest of their way, so that each link of the tree is visited once.
type InTree struct {
	Load  []float64       // by link: routes over it
	Links []schema.LinkID // links with routes, in the order of their first route

	grid    *Grid
	routes  []float64 // by switch number: routes that are there
	at      []int32   // switches with routes
	waiting [][]int32 // of these, by distance left in a dimension
}

// NewInTree returns an empty tree.
func (g *Grid) NewInTree() *InTree {
	return &InTree{Load: make([]float64, len(g.keys)), grid: g, routes: make([]float64, len(g.devices))}
}

// Reset removes all routes.
func (t *InTree) Reset() {
	for _, l := range t.Links {
		t.Load[l] = 0
	}
	t.Links = t.Links[:0]
}

// Gather adds a route from each sender to a switch.
func (t *InTree) Gather(senders []topology.DeviceID, end topology.DeviceID) {
	for _, d := range senders {
		t.send(d, 1)
	}
	t.converge(end, len(t.grid.shape.Dims))
}

// Upstream adds, for the routes of a job's all-to-all exchange that cross a link from its end tail, the part before
// that link. Routes that cross a dead link before it are left out.
func (t *InTree) Upstream(r *Set, l schema.LinkID, tail topology.DeviceID, dead []schema.LinkID) {
	pass := t.grid.Passage(r, l, tail)
	for i := range max(0, len(pass.sources)-1) {
		routes := pass.goals[pass.sources[i].at]
		if routes == 0 {
			continue
		}
		for _, device := range pass.nodes[pass.dim].from.devices[pass.sources[i].first:pass.sources[i+1].first] {
			if !t.grid.isCut(device, tail, dead) {
				t.send(device, routes)
			}
		}
	}
	t.converge(tail, pass.dim+1)
}

// add adds routes to a link.
func (t *InTree) add(l schema.LinkID, routes float64) {
	if t.Load[l] == 0 {
		t.Links = append(t.Links, l)
	}
	t.Load[l] += routes
}

// send starts routes at a switch.
func (t *InTree) send(from topology.DeviceID, routes float64) {
	n := t.grid.numbers[from]
	if t.routes[n] == 0 {
		t.at = append(t.at, n)
	}
	t.routes[n] += routes
}

// converge leads all routes that were sent to a switch and adds them to the links on their way. They have arrived
// already in the dimensions from dims on.
func (t *InTree) converge(end topology.DeviceID, dims int) {
	for dim := range dims {
		t.alongDimension(dim, t.grid.coord(end, dim))
	}
	for _, at := range t.at {
		t.routes[at] = 0
	}
	t.at = t.at[:0]
}

// alongDimension moves the routes to a coordinate, the farthest first, so that those on the way join them.
func (t *InTree) alongDimension(dim, goal int) {
	g := t.grid
	stride := g.strides[dim]
	size, k, ways := g.shape.Dims[dim], len(g.shape.Dims), g.ways[dim]
	for len(t.waiting) <= size {
		t.waiting = append(t.waiting, nil)
	}
	farthest := 0
	for _, at := range t.at {
		steps := int(ways[int(g.coords[int(at)*k+dim])*size+goal])
		steps = max(steps, -steps)
		t.waiting[steps] = append(t.waiting[steps], at)
		farthest = max(farthest, steps)
	}
	for steps := farthest; steps > 0; steps-- {
		for _, at := range t.waiting[steps] {
			x := int(g.coords[int(at)*k+dim])
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
			if l := g.next[tail*k+dim]; l != schema.NoLink {
				t.add(l, t.routes[at])
			}
			if t.routes[to] == 0 {
				t.waiting[steps-1] = append(t.waiting[steps-1], int32(to))
			}
			t.routes[to] += t.routes[at]
			t.routes[at] = 0
		}
		t.waiting[steps] = t.waiting[steps][:0]
	}
	t.at = append(t.at[:0], t.waiting[0]...)
	t.waiting[0] = t.waiting[0][:0]
}

// isCut reports whether the route between two switches crosses a dead link.
func (g *Grid) isCut(from, to topology.DeviceID, dead []schema.LinkID) (cut bool) {
	if len(dead) > 0 {
		g.EachOnRoute(from, to, func(l schema.LinkID) { cut = cut || slices.Contains(dead, l) })
	}
	return cut
}
