package routes

// arcs is how many switches of a line send to one of them in + direction, and how many in -.
type arcs struct{ ahead, back int }

// measure tabulates coordinates, ways and arcs.
func (g *Grid) measure() {
	k := len(g.shape.Dims)
	g.coords, g.ways, g.arcs = make([]int16, g.shape.Switches()*k), make([][]int16, k), make([][]arcs, k)
	for n, d := range g.devices {
		for dim, x := range g.graph.Device(d).Coord {
			g.coords[n*k+dim] = int16(x)
		}
	}
	stride := 1
	for dim, size := range g.shape.Dims {
		g.strides = append(g.strides, stride)
		stride *= size
		g.sure = append(g.sure, .3+.7*float64(dim)/float64(max(1, k-1)))
		g.ways[dim], g.arcs[dim] = make([]int16, size*size), make([]arcs, size)
		for from := range size {
			for to := range size {
				steps, ahead := g.way(from, to, size)
				if !ahead {
					steps = -steps
				}
				g.ways[dim][from*size+to] = int16(steps)
				switch {
				case steps > 0:
					g.arcs[dim][to].ahead++
				case steps < 0:
					g.arcs[dim][to].back++
				}
			}
		}
	}
}

// way is the distance and direction of the shorter way round a line; ties are broken as in simulate/routing.
func (g *Grid) way(from, to, size int) (steps int, ahead bool) {
	if !g.shape.Wrap {
		if to < from {
			return from - to, false
		}
		return to - from, true
	}
	steps = (to - from + size) % size
	if back := size - steps; back < steps || back == steps && from%2 != 0 {
		return back, false
	}
	return steps, true
}
