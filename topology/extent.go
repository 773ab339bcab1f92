package topology

import "github.com/giverny/giverny/schema"

// boxer computes bounding boxes on one graph's grid. It reuses memory between calls and
// is not safe for concurrent use.
type boxer struct {
	g    *Graph
	seen [][]bool // by dimension and coordinate
}

// newBoxer returns a boxer; the graph must have a grid.
func newBoxer(g *Graph) *boxer {
	b := &boxer{g: g, seen: make([][]bool, len(g.grid.Dims))}
	for i, d := range g.grid.Dims {
		b.seen[i] = make([]bool, d)
	}
	return b
}

// Box writes into box the smallest box that contains both end switches of every link:
// in each dimension the shortest arc, which on a torus may cross the wraparound (Max <
// Min). A whole ring is 0 to size-1. box's slices are reused if they are long enough.
func (b *boxer) Box(links []schema.LinkID, box *schema.Box) {
	dims := b.g.grid.Dims
	for i := range b.seen {
		clear(b.seen[i])
	}
	for _, l := range links {
		for _, d := range [2]DeviceID{b.g.from[l], b.g.to[l]} {
			for i, x := range b.g.devices[d].Coord {
				b.seen[i][x] = true
			}
		}
	}
	box.Min, box.Max = box.Min[:0], box.Max[:0]
	for i := range dims {
		lo, hi := arc(b.seen[i], b.g.grid.Wrap)
		box.Min, box.Max = append(box.Min, lo), append(box.Max, hi)
	}
}

// arc is the shortest run of positions, circular if wrap, that contains every position
// seen: all but the largest gap.
func arc(seen []bool, wrap bool) (lo, hi int) {
	n, first, last := len(seen), -1, -1
	bestGap, gapEnd := 0, 0
	for i, s := range seen {
		if !s {
			continue
		}
		if first < 0 {
			first = i
		} else if gap := i - last - 1; gap > bestGap {
			bestGap, gapEnd = gap, i
		}
		last = i
	}
	if first < 0 {
		return 0, 0
	}
	if !wrap || first+n-last-1 >= bestGap {
		return first, last
	}
	return gapEnd, (gapEnd - bestGap - 1 + n) % n
}

// BoundingBox is boxer.Box with newly allocated memory, or nil if the graph has no
// grid.
func (g *Graph) BoundingBox(links []schema.LinkID) *schema.Box {
	if g.grid == nil || len(links) == 0 {
		return nil
	}
	box := new(schema.Box)
	newBoxer(g).Box(links, box)
	return box
}
