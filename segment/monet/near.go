package monet

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/topology"
)

// nearness is Monet's d_delta <= delta over the links of a graph.
type nearness interface {
	// joinSimilar joins every two near links whose values differ by at most theta.
	// A missing value is similar to nothing.
	joinSimilar(values []float32, theta float32, sets *linkset.UnionFind)
	// appendNear appends the links near link x, nearest first, with their
	// distances. A link may appear twice; its first distance counts.
	appendNear(buf []nearLink, x int32) []nearLink
}

type nearLink struct {
	link     int32
	distance int8
}

// newNearness chooses the distance measure for a graph.
func newNearness(g *topology.Graph, delta int) nearness {
	if n := newGridNear(g, delta); n != nil {
		return n
	}
	return newSwitchNear(linkset.NewAdjacency(g), delta)
}

// gridNear uses the L1 norm between the half-way points of links, with wraparound
// (Monet, section 4.2).
type gridNear struct {
	dims    []int
	linkAt  []int32     // by cell*len(dims)+dim: the link that leaves in + direction, or -1
	cellOf  []int32     // by link
	dimOf   []int8      // by link
	steps   [][]step    // by dimension of the link: steps to near links, nearest first
	move    [][][]int32 // [dim][coordinate][shift+reach]: contribution to the cell number, or -1 off the mesh
	reach   int
	strides []int
}

// step leads from a link to a near one.
type step struct {
	shift    [8]int8 // of the cell
	dim      int8    // of the link there
	distance int8
	forward  bool // set for one of each pair of opposite steps
}

// newGridNear returns nil unless every link of the graph is the duplex link of a torus
// or mesh.
func newGridNear(g *topology.Graph, delta int) *gridNear {
	grid := g.Grid()
	if grid == nil || !g.Duplex() || len(grid.Dims) > 8 {
		return nil
	}
	k := len(grid.Dims)
	n := &gridNear{dims: grid.Dims, reach: delta + 1, linkAt: make([]int32, k*grid.Switches()),
		cellOf: make([]int32, g.NumLinks()), dimOf: make([]int8, g.NumLinks())}
	for i := range n.linkAt {
		n.linkAt[i] = -1
	}
	for id := range g.NumLinks() {
		l := g.Link(schema.LinkID(id))
		if l.Dim < 0 {
			return nil
		}
		cell := grid.Number(g.Device(l.From).Coord)
		at := cell*k + int(l.Dim)
		if n.linkAt[at] >= 0 {
			return nil
		}
		n.linkAt[at], n.cellOf[id], n.dimOf[id] = int32(id), int32(cell), l.Dim
	}
	n.buildMoves(grid)
	for from := range k {
		var s step
		n.steps = append(n.steps, n.appendSteps(nil, s, 0, from, 2*delta))
		slices.SortStableFunc(n.steps[from], func(a, b step) int { return cmp.Compare(a.distance, b.distance) })
	}
	return n
}

func (n *gridNear) buildMoves(grid *topology.Grid) {
	stride := 1
	for _, size := range grid.Dims {
		table := make([][]int32, size)
		for c := range table {
			table[c] = make([]int32, 2*n.reach+1)
			for i := range table[c] {
				to := c + i - n.reach
				if grid.Wrap {
					to = (to%size + size) % size
				}
				table[c][i] = int32(to * stride)
				if to < 0 || to >= size {
					table[c][i] = -1
				}
			}
		}
		n.move = append(n.move, table)
		n.strides = append(n.strides, stride)
		stride *= size
	}
}

// appendSteps completes s from dimension d on, for links of dimension from. budget is
// how much the doubled L1 distance may still increase.
func (n *gridNear) appendSteps(steps []step, s step, d, from, budget int) []step {
	if d < len(n.dims) {
		for shift := -n.reach; shift <= n.reach; shift++ {
			// In dimension from, where the two half-way points may differ by half a
			// spacing, the cost is corrected once the target's dimension is known.
			cost := 2 * abs(shift)
			if cost <= budget+2 {
				s.shift[d] = int8(shift)
				steps = n.appendSteps(steps, s, d+1, from, budget-cost)
			}
		}
		return steps
	}
	total := 2*(n.reach-1) - budget // doubled L1 between the cells
	for to := range n.dims {
		doubled := total
		forward := 0
		if to != from {
			doubled += half(int(s.shift[from]), -1) + half(int(s.shift[to]), 1)
		}
		for i := range n.dims {
			diff := 2 * int(s.shift[i])
			if to != from && i == from {
				diff--
			}
			if to != from && i == to {
				diff++
			}
			if forward == 0 {
				forward = diff
			}
		}
		if doubled > 0 && doubled <= 2*(n.reach-1) {
			t := s
			t.dim, t.distance, t.forward = int8(to), int8(doubled/2), forward > 0
			steps = append(steps, t)
		}
	}
	return steps
}

// half is the difference |2*shift + offset| - |2*shift|.
func half(shift, offset int) int { return abs(2*shift+offset) - abs(2*shift) }

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}

// target returns the link that a step leads to from the given coordinates, or -1.
func (n *gridNear) target(c *[8]int, s *step) int32 {
	cell := int32(0)
	for d := range n.dims {
		m := n.move[d][c[d]][int(s.shift[d])+n.reach]
		if m < 0 {
			return -1
		}
		cell += m
	}
	return n.linkAt[int(cell)*len(n.dims)+int(s.dim)]
}

func (n *gridNear) coord(cell int32, c *[8]int) {
	rest := int(cell)
	for d, size := range n.dims {
		c[d] = rest % size
		rest /= size
	}
}

func (n *gridNear) joinSimilar(values []float32, theta float32, sets *linkset.UnionFind) {
	var c [8]int
	for x, v := range values {
		if v < 0 {
			continue
		}
		n.coord(n.cellOf[x], &c)
		steps := n.steps[n.dimOf[x]]
		for i := range steps {
			if !steps[i].forward {
				continue
			}
			y := n.target(&c, &steps[i])
			if y < 0 || values[y] < 0 {
				continue
			}
			if d := v - values[y]; d <= theta && -d <= theta {
				sets.Union(int32(x), y)
			}
		}
	}
}

func (n *gridNear) appendNear(buf []nearLink, x int32) []nearLink {
	var c [8]int
	n.coord(n.cellOf[x], &c)
	steps := n.steps[n.dimOf[x]]
	for i := range steps {
		if y := n.target(&c, &steps[i]); y >= 0 && y != x {
			buf = append(buf, nearLink{y, steps[i].distance})
		}
	}
	return buf
}
