package routes

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// line is a row of switches along a dimension, with the number of nodes that enter, or leave, at each.
type line struct {
	base int // number of its switch at coordinate 0
	from []float64
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
	stride := 1
	for _, d := range g.shape.Dims[:dim] {
		stride *= d
	}
	size := g.shape.Dims[dim]
	from, to := byLine(sources, stride, size), byLine(goals, stride, size)
	for i := range from {
		for j := range to {
			g.load(r, dim, from[i].base+to[j].base, stride, from[i].from, to[j].from, unit)
		}
	}
}

// byLine splits groups by line: base is the key without the coordinate of the dimension.
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

// load adds the traffic along one line from each of its switches to each other one.
func (g *Grid) load(r *Router, dim, base, stride int, from, to []float64, unit float64) {
	size, k := len(from), len(g.shape.Dims)
	for x, a := range from {
		if a == 0 {
			continue
		}
		for y, b := range to {
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
