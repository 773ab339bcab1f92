package diagnose

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// routes are where a job's traffic can be: the load of each link under a uniform exchange of all its nodes
// with all by the default routing, as a share of what the nodes send; and links that it would use to reach
// what is outside of it, the file system say.
type routes struct {
	links []schema.LinkID // ascending, that the exchange uses
	load  []float32       // by links: share of what the nodes send that crosses the link
	total float64         // sum of load: links that a byte crosses in the mean
	gates []schema.LinkID // ascending, at the border: where traffic with others enters and leaves the job
	// On a grid, by dimension d: the places of its nodes in the dimensions before d, and in those behind it.
	prefix, suffix []schema.Bitmap
	nodes          []lineNodes
	devices        []topology.DeviceID // of which they are
}

// router finds the routes of jobs on one graph. Its memory is used again by the next job.
type router struct {
	graph *topology.Graph
	load  []float64 // by link
	used  []schema.LinkID
	grid  *gridLinks // nil where there is no grid of switches
	tree  *treeRoutes
	known map[uint64]*routes // lately found, by hash of the devices
}

func newRouter(g *topology.Graph) *router {
	r := &router{graph: g, load: make([]float64, g.NumLinks())}
	if g.Grid() != nil {
		r.grid = newGridLinks(g)
	}
	if r.grid == nil || !r.grid.whole {
		r.grid = nil
		r.tree = newTreeRoutes(g)
	}
	return r
}

// add puts load on a link.
func (r *router) add(l schema.LinkID, share float64) {
	if r.load[l] == 0 {
		r.used = append(r.used, l)
	}
	r.load[l] += share
}

// route finds the routes of a job's devices.
func (r *router) route(devices []topology.DeviceID) *routes {
	out := new(routes)
	if len(devices) > 1 {
		if r.grid != nil {
			r.grid.exchange(r, devices)
		} else {
			r.tree.exchange(r, devices)
		}
	}
	slices.Sort(r.used)
	out.links, out.load = make([]schema.LinkID, len(r.used)), make([]float32, len(r.used))
	for i, l := range r.used {
		out.links[i], out.load[i] = l, float32(r.load[l])
		out.total += r.load[l]
		r.load[l] = 0
	}
	r.used = r.used[:0]
	out.gates = r.gates(devices)
	if r.grid != nil {
		r.grid.places(out, devices)
	}
	return out
}

// leafOf is the switch of a host, or the switch itself.
func (r *router) leafOf(d topology.DeviceID) topology.DeviceID {
	if r.graph.IsSwitch(d) || r.tree == nil {
		return d
	}
	return r.tree.leaf[d]
}

// bisection is the share of a uniform exchange of n nodes that crosses the cut into halves.
func bisection(n int) float64 {
	if n < 2 {
		return 0
	}
	a, b := float64(n/2), float64(n-n/2)
	return 2 * a * b / (float64(n) * float64(n-1))
}

// maxGates bounds the links at the border of a job.
const maxGates = 1 << 14

// gates are the links at the job's devices, and at the leaves of its hosts.
func (r *router) gates(devices []topology.DeviceID) []schema.LinkID {
	var gates []schema.LinkID
	for _, d := range devices {
		gates = append(gates, r.graph.LinksAt(d)...)
		if len(gates) > maxGates {
			break
		}
		if r.graph.IsSwitch(d) {
			continue
		}
		for _, l := range r.graph.LinksAt(d) {
			leaf, to := r.graph.Ends(l)
			if leaf == d {
				leaf = to
			}
			for _, up := range r.graph.LinksAt(leaf) {
				a, b := r.graph.Ends(up)
				if r.graph.IsSwitch(a) && r.graph.IsSwitch(b) {
					gates = append(gates, up)
				}
			}
		}
	}
	slices.Sort(gates)
	return slices.Compact(gates)
}

// on is the load of a link, 0 if the exchange does not use it.
func (r *routes) on(l schema.LinkID) float64 {
	if i, found := slices.BinarySearch(r.links, l); found {
		return float64(r.load[i])
	}
	return 0
}

// gridLinks are the links of a torus or mesh by switch and dimension, for directional-order routing: X until
// it is resolved, then Y, then Z, the shorter way round (Monet, section 2 and appendix A).
type gridLinks struct {
	grid  *topology.Grid
	graph *topology.Graph
	next  []schema.LinkID // [number*k+dim]: the link in + direction
	prev  []schema.LinkID // of a directed grid: that back
	whole bool            // every device is a switch of the grid
	keys  []linkKey       // by link
	// Devices by number in the grid.
	devices []topology.DeviceID
	numbers []int32   // by device
	coords  []int16   // [number*k+dim]
	ways    [][]int16 // by dimension, [from*size+to]: steps of the shorter way, negative where it goes back
	arcs    [][]arcs  // by dimension and coordinate
	sure    []float64 // how much it says that a link fits in so many of the other dimensions
}

// linkKey is a link's dimension and its place in the dimensions before and behind that.
type linkKey struct {
	dim            int8
	before, behind int32
	low            int32 // number of the switch from which routes take it in + direction; -1: none takes it
}

func newGridLinks(g *topology.Graph) *gridLinks {
	grid := g.Grid()
	k := len(grid.Dims)
	t := &gridLinks{grid: grid, graph: g, next: make([]schema.LinkID, grid.Switches()*k), whole: g.NumDevices() == grid.Switches(), keys: make([]linkKey, g.NumLinks())}
	for i := range t.next {
		t.next[i] = schema.NoLink
	}
	if !g.Duplex() {
		t.prev = slices.Clone(t.next)
	}
	for d := range g.NumDevices() {
		if len(g.Device(topology.DeviceID(d)).Coord) != k {
			t.whole = false
			return t
		}
	}
	t.devices, t.numbers = make([]topology.DeviceID, grid.Switches()), make([]int32, g.NumDevices())
	for d := range topology.DeviceID(g.NumDevices()) {
		n := grid.Number(g.Device(d).Coord)
		t.devices[n], t.numbers[d] = d, int32(n)
	}
	t.measure()
	for l := range g.NumLinks() {
		link := g.Link(schema.LinkID(l))
		if link.Dim < 0 || int(link.Dim) >= k {
			t.keys[l] = linkKey{dim: -1, low: -1}
			continue
		}
		before, behind := t.around(link.From, int(link.Dim))
		t.keys[l] = linkKey{link.Dim, int32(before), int32(behind), -1}
		from, to := g.Device(link.From).Coord, g.Device(link.To).Coord
		size := grid.Dims[link.Dim]
		ahead := (from[link.Dim]+1)%size == to[link.Dim]
		at := grid.Number(from)*k + int(link.Dim)
		switch {
		case ahead && t.next[at] == schema.NoLink:
			t.next[at] = schema.LinkID(l)
		case g.Duplex():
			t.next[grid.Number(to)*k+int(link.Dim)] = schema.LinkID(l)
		default:
			t.prev[grid.Number(to)*k+int(link.Dim)] = schema.LinkID(l)
		}
	}
	for i, l := range t.next {
		if l != schema.NoLink {
			t.keys[l].low = int32(i / k)
		}
	}
	return t
}

// places notes where the nodes are for traffic with others: on its way to one of them a packet that travels
// along dimension d has that node's place in the dimensions before d, and on its way from one of them in those
// behind it.
func (t *gridLinks) places(out *routes, devices []topology.DeviceID) {
	k := len(t.grid.Dims)
	out.prefix, out.suffix, out.nodes = make([]schema.Bitmap, k), make([]schema.Bitmap, k), make([]lineNodes, k)
	stride := 1
	for d, size := range t.grid.Dims {
		out.prefix[d] = schema.NewBitmap(stride)
		stride *= size
		out.suffix[d] = schema.NewBitmap(t.grid.Switches() / stride)
		for _, device := range devices {
			before, behind := t.around(device, d)
			out.prefix[d].Set(before)
			out.suffix[d].Set(behind)
			at := int32(t.graph.Device(device).Coord[d])
			out.nodes[d].to = append(out.nodes[d].to, placed{int32(before), at, device})
			out.nodes[d].from = append(out.nodes[d].from, placed{int32(behind), at, device})
		}
		for _, nodes := range [2][]placed{out.nodes[d].to, out.nodes[d].from} {
			slices.SortFunc(nodes, func(a, b placed) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.at, b.at)) })
		}
	}
}

// around is a device's place without dimension d, counted from 0: by the dimensions before it, and by those
// behind it.
func (t *gridLinks) around(device topology.DeviceID, d int) (before, behind int) {
	stride := 1
	for i, x := range t.graph.Device(device).Coord {
		switch {
		case i == d:
			stride = 1
			continue
		case i < d:
			before += x * stride
		case i > d:
			behind += x * stride
		}
		stride *= t.grid.Dims[i]
	}
	return before, behind
}

// onTheWay is the share of the weight of links that traffic between the nodes and any others can take, of
// those to them or those from them, whichever is more. A link counts the less the more jobs that holds for:
// the first dimension of what comes, and the last of what goes, can be anywhere.
func (t *gridLinks) onTheWay(r *routes, links []schema.LinkID, weight []float64, total float64) float64 {
	var to, from float64
	k := len(t.grid.Dims)
	for i, l := range links {
		key := &t.keys[l]
		d := int(key.dim)
		if d < 0 {
			continue
		}
		if r.prefix[d].Has(int(key.before)) {
			to += weight[i] * t.sure[d]
		}
		if r.suffix[d].Has(int(key.behind)) {
			from += weight[i] * t.sure[k-1-d]
		}
	}
	return max(to, from) / total
}

// line is a row of switches along a dimension with the weights of packets that enter it and where they leave.
type line struct {
	base int // number of its switch at coordinate 0
	from []float64
}

// exchange adds the load of a uniform exchange. In each dimension the packets that travel along a line come
// from nodes that agree with it in the dimensions not yet travelled, and go to nodes that agree with it in
// those that are: their number is a product, so that pairs of nodes need not be listed.
func (t *gridLinks) exchange(r *router, devices []topology.DeviceID) {
	n := len(devices)
	unit := 1 / (float64(n) * float64(n-1)) // of what all nodes send, by pair
	for dim := range t.grid.Dims {
		sources := t.count(devices, func(i int) bool { return i >= dim }) // by coordinates dim and later
		goals := t.count(devices, func(i int) bool { return i <= dim })   // by coordinates up to dim
		t.alongLines(r, dim, sources, goals, unit)
	}
}

// count groups devices by some of their coordinates; the others are 0 in the key, a switch number.
func (t *gridLinks) count(devices []topology.DeviceID, keep func(dim int) bool) []group {
	groups := make([]group, 0, len(devices))
	c := make([]int, len(t.grid.Dims))
	for _, d := range devices {
		for i, x := range t.graph.Device(d).Coord {
			if c[i] = 0; keep(i) {
				c[i] = x
			}
		}
		groups = append(groups, group{t.grid.Number(c), 1})
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Compare(a.key, b.key) })
	out := groups[:0]
	for _, g := range groups {
		if len(out) > 0 && out[len(out)-1].key == g.key {
			out[len(out)-1].nodes++
			continue
		}
		out = append(out, g)
	}
	return out
}

// group is how many nodes have a place.
type group struct {
	key   int
	nodes float64
}

// alongLines loads the lines of a dimension: those from every group of sources, apart from its coordinate in
// the dimension, to every group of goals.
func (t *gridLinks) alongLines(r *router, dim int, sources, goals []group, unit float64) {
	stride := 1
	for _, d := range t.grid.Dims[:dim] {
		stride *= d
	}
	size := t.grid.Dims[dim]
	from, to := byLine(sources, stride, size), byLine(goals, stride, size)
	for i := range from {
		for j := range to {
			t.load(r, dim, from[i].base+to[j].base, stride, from[i].from, to[j].from, unit)
		}
	}
}

// byLine splits groups into lines: base is the key without the coordinate of the dimension.
func byLine(groups []group, stride, size int) []line {
	var lines []line
	at := map[int]int{}
	for _, g := range groups {
		x := g.key / stride % size
		base := g.key - x*stride
		i, known := at[base]
		if !known {
			i = len(lines)
			at[base] = i
			lines = append(lines, line{base: base, from: make([]float64, size)})
		}
		lines[i].from[x] += g.nodes
	}
	return lines
}

// load adds what goes along one line from each switch to each.
func (t *gridLinks) load(r *router, dim, base, stride int, from, to []float64, unit float64) {
	size, k := len(from), len(t.grid.Dims)
	for x, a := range from {
		if a == 0 {
			continue
		}
		for y, b := range to {
			if b == 0 || x == y {
				continue
			}
			steps, ahead := t.way(x, y, size)
			for at := x; steps > 0; steps-- {
				links := t.next
				tail := at
				if !ahead {
					if tail = (at - 1 + size) % size; t.prev != nil {
						links = t.prev
					}
				}
				if l := links[(base+tail*stride)*k+dim]; l != schema.NoLink {
					r.add(l, a*b*unit)
				}
				if ahead {
					at = (at + 1) % size
				} else {
					at = tail
				}
			}
		}
	}
}
