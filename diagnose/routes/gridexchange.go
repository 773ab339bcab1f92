package routes

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// row is a line of switches along a dimension, with the number of nodes that enter, or leave, at each.
type row struct {
	base  int // number of its switch at coordinate 0
	nodes []float64
}

// exchange adds the load of a uniform all-to-all exchange. Packets that travel along a line of a dimension come from
// nodes that agree with it in the dimensions not yet travelled, and go to nodes that agree with it in those travelled
// before. Their number is a product, so that pairs of nodes need not be listed.
func (g *Grid) exchange(r *Router, devices []topology.DeviceID) {
	n := len(devices)
	unit := 1 / (float64(n) * float64(n-1)) // share of one pair
	for dim := range g.shape.Dims {
		sources := g.count(devices, func(i int) bool { return i >= dim }) // by coordinates from dim on
		goals := g.count(devices, func(i int) bool { return i <= dim })   // by coordinates up to dim
		g.alongLines(r, dim, sources, goals, unit)
	}
}

// count groups devices by the coordinates kept; the others are 0 in the key, a switch number.
func (g *Grid) count(devices []topology.DeviceID, keep func(dim int) bool) []group {
	groups := make([]group, 0, len(devices))
	c := make([]int, len(g.shape.Dims))
	for _, d := range devices {
		for i, x := range g.graph.Device(d).Coord {
			if c[i] = 0; keep(i) {
				c[i] = x
			}
		}
		groups = append(groups, group{g.shape.Number(c), 1})
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Compare(a.key, b.key) })
	out := groups[:0]
	for _, next := range groups {
		if len(out) > 0 && out[len(out)-1].key == next.key {
			out[len(out)-1].nodes++
			continue
		}
		out = append(out, next)
	}
	return out
}

// group is the number of nodes with a key.
type group struct {
	key   int
	nodes float64
}

// alongLines loads the lines of a dimension with the traffic from every group of sources to every group of goals. A
// line is fixed by both keys without the coordinate of the dimension.
func (g *Grid) alongLines(r *Router, dim int, sources, goals []group, unit float64) {
	from, to := g.byRow(sources, dim), g.byRow(goals, dim)
	for i := range from {
		for j := range to {
			g.load(r, dim, &from[i], &to[j], unit)
		}
	}
}

// byRow splits groups by line: base is the key without the coordinate of the dimension.
func (g *Grid) byRow(groups []group, dim int) []row {
	var rows []row
	stride, size := g.strides[dim], g.shape.Dims[dim]
	at := map[int]int{}
	for _, of := range groups {
		x := of.key / stride % size
		base := of.key - x*stride
		i, known := at[base]
		if !known {
			i = len(rows)
			at[base] = i
			rows = append(rows, row{base: base, nodes: make([]float64, size)})
		}
		rows[i].nodes[x] += of.nodes
	}
	return rows
}

// load adds the traffic along one line from each of its switches to each other one; unit is that of one pair of nodes.
func (g *Grid) load(r *Router, dim int, from, to *row, unit float64) {
	base, stride, size, k := from.base+to.base, g.strides[dim], g.shape.Dims[dim], len(g.shape.Dims)
	for x, a := range from.nodes {
		if a == 0 {
			continue
		}
		for y, b := range to.nodes {
			if b == 0 || x == y {
				continue
			}
			steps, ahead := g.way(x, y, size)
			for at := x; steps > 0; steps-- {
				next, tail := hop(at, size, ahead)
				links := g.next
				if !ahead && g.prev != nil {
					links = g.prev
				}
				if l := links[(base+tail*stride)*k+dim]; l != schema.NoLink {
					r.add(l, a*b*unit)
				}
				at = next
			}
		}
	}
}
