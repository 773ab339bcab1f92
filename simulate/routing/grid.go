package routing

import "github.com/giverny/giverny/topology"

// gridTable holds the channels of a torus or mesh by switch, dimension and direction.
type gridTable struct {
	grid  *topology.Grid
	graph *topology.Graph
	next  []Channel // [device*2k + 2*dim + way], way 0 is +, 1 is -
	to    []topology.DeviceID
}

func newGridTable(c *Channels) *gridTable {
	grid := c.graph.Grid()
	k := len(grid.Dims)
	t := &gridTable{grid: grid, graph: c.graph, to: c.to, next: make([]Channel, c.graph.NumDevices()*2*k)}
	for i := range t.next {
		t.next[i] = NoChannel
	}
	for ch := range c.from {
		l := c.graph.Link(c.Link(Channel(ch)))
		if l.Dim < 0 {
			continue
		}
		size := grid.Dims[l.Dim]
		at, far := c.graph.Device(c.from[ch]).Coord[l.Dim], c.graph.Device(c.to[ch]).Coord[l.Dim]
		way := 1
		if (at+1)%size == far && (c.perLink == 1 || ch%2 == 0) {
			way = 0
		}
		slot := &t.next[int(c.from[ch])*2*k+2*int(l.Dim)+way]
		if *slot == NoChannel {
			*slot = Channel(ch)
		}
	}
	return t
}

// route is directional-order routing (Monet, section 2 and appendix A): X until it is
// resolved, then Y, then Z, each the shorter way round the ring. The paper leaves ties
// open; here switches with an even coordinate go + and the others -, so that ties are
// spread evenly.
func (t *gridTable) route(path []Channel, src, dst topology.DeviceID, _ uint64) ([]Channel, bool) {
	k := len(t.grid.Dims)
	goal := t.graph.Device(dst).Coord
	start := t.graph.Device(src).Coord
	at := src
	for dim, size := range t.grid.Dims {
		steps, way := t.way(start[dim], goal[dim], size)
		for range steps {
			ch := t.next[int(at)*2*k+2*dim+way]
			if ch == NoChannel {
				return path, false
			}
			path = append(path, ch)
			at = t.to[ch]
		}
	}
	return path, at == dst
}

// way returns how far and in which direction to go along a dimension.
func (t *gridTable) way(from, to, size int) (steps, way int) {
	ahead := to - from
	if !t.grid.Wrap {
		if ahead < 0 {
			return -ahead, 1
		}
		return ahead, 0
	}
	if ahead < 0 {
		ahead += size
	}
	switch back := size - ahead; {
	case ahead < back, ahead == back && from%2 == 0:
		return ahead, 0
	default:
		return back, 1
	}
}
