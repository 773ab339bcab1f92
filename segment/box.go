package segment

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// boxer computes bounding boxes on a torus or mesh, in its own memory.
type boxer struct {
	graph  *topology.Graph
	dims   []int
	wrap   bool
	inUse  [][]bool // by dimension and coordinate
	boxes  []*schema.Box
	handed int
}

func newBoxer(g *topology.Graph) boxer {
	b := boxer{graph: g}
	if grid := g.Grid(); grid != nil {
		b.dims, b.wrap = grid.Dims, grid.Wrap
		for _, n := range grid.Dims {
			b.inUse = append(b.inUse, make([]bool, n))
		}
	}
	return b
}

// reset invalidates all boxes, for reuse.
func (b *boxer) reset() { b.handed = 0 }

// box covers both switches of every link: in each dimension the shortest arc, which on
// a torus may cross the wraparound. It is nil on graphs without coordinates.
func (b *boxer) box(links []schema.LinkID) *schema.Box {
	if b.dims == nil {
		return nil
	}
	for _, u := range b.inUse {
		clear(u)
	}
	for _, l := range links {
		from, to := b.graph.Ends(l)
		for _, d := range [2]topology.DeviceID{from, to} {
			for i, c := range b.graph.Device(d).Coord {
				b.inUse[i][c] = true
			}
		}
	}
	if b.handed == len(b.boxes) {
		corners := make([]int, 2*len(b.dims))
		b.boxes = append(b.boxes, &schema.Box{Min: corners[:len(b.dims):len(b.dims)], Max: corners[len(b.dims):]})
	}
	box := b.boxes[b.handed]
	b.handed++
	for i, u := range b.inUse {
		box.Min[i], box.Max[i] = shortestArc(u, b.wrap)
	}
	return box
}

// shortestArc is the shortest span that contains every coordinate in use: on a ring,
// the complement of the largest gap (of equal gaps, the first). A full ring is 0..n-1.
func shortestArc(inUse []bool, wrap bool) (low, high int) {
	low, high = -1, -1
	gap, previous := 0, -1
	from, to := 0, 0
	for c, used := range inUse {
		if !used {
			continue
		}
		if low < 0 {
			low = c
		} else if c-previous > gap {
			gap, from, to = c-previous, c, previous
		}
		previous, high = c, c
	}
	if around := low + len(inUse) - high; !wrap || gap <= around {
		return low, high
	}
	return from, to
}
