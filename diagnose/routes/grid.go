package routes

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Grid holds the links of a torus or mesh by switch and dimension, for directional-order routing: X until it is
// resolved, then Y, then Z, the shorter way round (Monet, section 2 and appendix A). Its methods may share scratch
// memory and are not safe for concurrent use.
type Grid struct {
	shape *topology.Grid
	graph *topology.Graph
	next  []schema.LinkID // [number*k+dim]: the link in + direction
	prev  []schema.LinkID // the link back, on a directed grid
	keys  []linkKey       // by link
	// Devices by switch number.
	devices []topology.DeviceID
	numbers []int32   // by device
	coords  []int16   // [number*k+dim]
	strides []int     // by dimension: difference of switch number between neighbours
	ways    [][]int16 // by dimension, [from*size+to]: steps of the shorter way, negative if backward
	arcs    [][]arcs  // by dimension and coordinate
	sure    []float64 // by number of other dimensions in which a link fits: weight of that as evidence
	counts  []float64 // scratch of Passage
}

// linkKey is a link's dimension and its place in the dimensions before and after that.
type linkKey struct {
	dim            int8
	before, behind int32
	low            int32 // number of the switch from which routes take it in + direction; -1 if none does
}

// newGrid tabulates the links of a graph; nil if a device is not a switch of the grid.
func newGrid(graph *topology.Graph) *Grid {
	shape := graph.Grid()
	k := len(shape.Dims)
	if graph.NumDevices() != shape.Switches() {
		return nil
	}
	g := &Grid{shape: shape, graph: graph, next: make([]schema.LinkID, shape.Switches()*k),
		keys: make([]linkKey, graph.NumLinks()), devices: make([]topology.DeviceID, shape.Switches()),
		numbers: make([]int32, graph.NumDevices())}
	for i := range g.next {
		g.next[i] = schema.NoLink
	}
	if !graph.Duplex() {
		g.prev = slices.Clone(g.next)
	}
	for d := range topology.DeviceID(graph.NumDevices()) {
		coord := graph.Device(d).Coord
		if len(coord) != k {
			return nil
		}
		n := shape.Number(coord)
		g.devices[n], g.numbers[d] = d, int32(n)
	}
	g.measure()
	for l := range schema.LinkID(graph.NumLinks()) {
		g.keys[l] = g.keyOf(l)
	}
	for i, l := range g.next {
		if l != schema.NoLink {
			g.keys[l].low = int32(i / k)
		}
	}
	return g
}

// keyOf is the key of a link, which it records at the switch from which it leads in + direction.
func (g *Grid) keyOf(l schema.LinkID) linkKey {
	link, k := g.graph.Link(l), len(g.shape.Dims)
	dim := int(link.Dim)
	if dim < 0 || dim >= k {
		return linkKey{dim: -1, low: -1}
	}
	from, to := g.graph.Device(link.From).Coord, g.graph.Device(link.To).Coord
	ahead := (from[dim]+1)%g.shape.Dims[dim] == to[dim]
	at, back := g.shape.Number(from)*k+dim, g.shape.Number(to)*k+dim
	switch {
	case ahead && g.next[at] == schema.NoLink:
		g.next[at] = l
	case g.graph.Duplex():
		g.next[back] = l
	default:
		g.prev[back] = l
	}
	before, behind := g.around(link.From, dim)
	return linkKey{link.Dim, int32(before), int32(behind), -1}
}

// placeNodes records where a job's nodes are, for traffic with other nodes: a packet to a node that travels along
// dimension d has that node's place in the dimensions before d, and a packet from a node has the node's place in those
// after d.
func (g *Grid) placeNodes(out *Set, devices []topology.DeviceID) {
	k := len(g.shape.Dims)
	out.prefix, out.suffix, out.nodes = make([]schema.Bitmap, k), make([]schema.Bitmap, k), make([]lineNodes, k)
	stride := 1
	for d, size := range g.shape.Dims {
		out.prefix[d] = schema.NewBitmap(stride)
		stride *= size
		out.suffix[d] = schema.NewBitmap(g.shape.Switches() / stride)
		to, from := make([]node, len(devices)), make([]node, len(devices))
		for i, device := range devices {
			before, behind := g.around(device, d)
			out.prefix[d].Set(before)
			out.suffix[d].Set(behind)
			at := int32(g.graph.Device(device).Coord[d])
			to[i], from[i] = node{int32(before), at, device}, node{int32(behind), at, device}
		}
		out.nodes[d] = lineNodes{newPlaced(to), newPlaced(from)}
	}
}

// around is a device's place in the dimensions before d, and its place in those after it, each counted from 0.
func (g *Grid) around(device topology.DeviceID, d int) (before, behind int) {
	stride := 1
	for i, x := range g.graph.Device(device).Coord {
		switch {
		case i == d:
			stride = 1
			continue
		case i < d:
			before += x * stride
		case i > d:
			behind += x * stride
		}
		stride *= g.shape.Dims[i]
	}
	return before, behind
}

// onTheWay is the weight of the links that traffic to, or traffic from, a job's nodes can take, whichever is greater. A
// link counts less if it fits many jobs: incoming traffic can be anywhere in the first dimension, outgoing in the last.
func (g *Grid) onTheWay(r *Set, links []schema.LinkID, weight []float64) float64 {
	var to, from float64
	k := len(g.shape.Dims)
	for i, l := range links {
		key := &g.keys[l]
		d := int(key.dim)
		if d < 0 {
			continue
		}
		if r.prefix[d].Has(int(key.before)) {
			to += weight[i] * g.sure[d]
		}
		if r.suffix[d].Has(int(key.behind)) {
			from += weight[i] * g.sure[k-1-d]
		}
	}
	return max(to, from)
}

// Dims is the number of switches by dimension.
func (g *Grid) Dims() []int { return g.shape.Dims }

// Dim is the dimension of a link; -1 if it does not join neighbours of the grid.
func (g *Grid) Dim(l schema.LinkID) int { return int(g.keys[l].dim) }

// TakesOver reports whether a link may carry the rerouted traffic of a failed one: it lies on the same ring or line,
// the other way round, or it is parallel, on a route with another dimension order: it has the same coordinate in their
// dimension and differs in one other.
func (g *Grid) TakesOver(l, failed schema.LinkID) bool {
	x, y := g.keys[l], g.keys[failed]
	if x.dim < 0 || x.dim != y.dim {
		return false
	}
	if x.before == y.before && x.behind == y.behind {
		return true
	}
	if x.low < 0 || y.low < 0 {
		return false
	}
	differ := 0
	for i, k := 0, len(g.shape.Dims); i < k; i++ {
		if g.coords[int(x.low)*k+i] != g.coords[int(y.low)*k+i] {
			differ++
		}
	}
	return differ == 1
}

// PlaceBehind is the place of a switch in the dimensions after dim.
func (g *Grid) PlaceBehind(d topology.DeviceID, dim int) int {
	_, behind := g.around(d, dim)
	return behind
}

// PlaceBefore is the place of a switch in the dimensions before dim.
func (g *Grid) PlaceBefore(d topology.DeviceID, dim int) int {
	return int(g.numbers[d]) % g.strides[dim]
}

// Steps is the number of links of a dimension on the route between two switches, negative if backward.
func (g *Grid) Steps(from, to topology.DeviceID, dim int) int {
	return int(g.ways[dim][g.coord(from, dim)*g.shape.Dims[dim]+g.coord(to, dim)])
}

// coord is the coordinate of a switch in a dimension.
func (g *Grid) coord(d topology.DeviceID, dim int) int {
	return int(g.coords[int(g.numbers[d])*len(g.shape.Dims)+dim])
}

// hop returns the coordinate after a hop along a dimension, and that of the switch that holds the hop's link.
func hop(x, size int, ahead bool) (next, tail int) {
	if ahead {
		return (x + 1) % size, x
	}
	x = (x - 1 + size) % size
	return x, x
}

// EachOnRoute visits the links of the route between two switches, dimension by dimension.
func (g *Grid) EachOnRoute(from, to topology.DeviceID, visit func(schema.LinkID)) {
	k, goal := len(g.shape.Dims), g.graph.Device(to).Coord
	at := g.shape.Number(g.graph.Device(from).Coord)
	for dim, size := range g.shape.Dims {
		stride := g.strides[dim]
		x := at / stride % size
		steps, ahead := g.way(x, goal[dim], size)
		for ; steps > 0; steps-- {
			next, tail := hop(x, size, ahead)
			if l := g.next[(at+(tail-x)*stride)*k+dim]; l != schema.NoLink {
				visit(l)
			}
			at += (next - x) * stride
			x = next
		}
	}
}

// Leading returns the ends of a link in the direction in which routes to goal take it.
func (g *Grid) Leading(l schema.LinkID, goal topology.DeviceID) (from, to topology.DeviceID) {
	from, to = g.graph.Ends(l)
	dim := g.Dim(l)
	far, near := g.Steps(from, goal, dim), g.Steps(to, goal, dim)
	if max(far, -far) < max(near, -near) {
		return to, from
	}
	return from, to
}
