package credits

import (
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// maxLanes is the number of lanes of a channel.
const maxLanes = 4

// appendLanes appends the lane of every channel of a path: cells change to a higher one where buffers could otherwise wait
// for each other in a cycle. On a torus that is behind the wraparound of a dimension (dateline) and where a detour goes
// back to an earlier dimension, on a dragonfly behind a global channel and a second local one, on a tree where a
// detour goes up again. Detours with more changes stay in the last lane, where a cycle is possible.
func appendLanes(lanes []uint8, c *routing.Channels, path []routing.Channel) []uint8 {
	grid := c.Graph().Grid()
	base, crossed := 0, 0
	for i := range path {
		if i > 0 && grid != nil {
			before, now := c.Graph().Link(c.Link(path[i-1])), c.Graph().Link(c.Link(path[i]))
			switch {
			case now.Dim < before.Dim:
				base, crossed = base+2, 0
			case now.Dim > before.Dim:
				crossed = 0
			case wraps(grid, c, path[i-1]):
				crossed = 1
			}
		} else if i > 0 && turnsBack(c, path[i-1], path[i]) {
			base++
		}
		lanes = append(lanes, uint8(min(base+crossed, maxLanes-1)))
	}
	return lanes
}

// wraps reports whether a channel leads from one end of its dimension to the other.
func wraps(grid *topology.Grid, c *routing.Channels, ch routing.Channel) bool {
	from, to := c.Ends(ch)
	dim := c.Graph().Link(c.Link(ch)).Dim
	d := c.Graph().Device(from).Coord[dim] - c.Graph().Device(to).Coord[dim]
	return d > 1 || d < -1 || grid.Dims[dim] == 2
}

func turnsBack(c *routing.Channels, before, now routing.Channel) bool {
	g := c.Graph()
	a, b := g.Link(c.Link(before)), g.Link(c.Link(now))
	if a.Class == topology.ClassGlobal || a.Class == topology.ClassLocal {
		return b.Class == topology.ClassLocal
	}
	return g.IsSwitch(a.From) && g.IsSwitch(b.To) && g.Device(a.From).Level > g.Device(a.To).Level && g.Device(b.From).Level < g.Device(b.To).Level
}
