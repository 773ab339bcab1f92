package diagnose

// arcs are how many switches of a line go to one of them in + direction, and how many in -.
type arcs struct{ ahead, back int }

// measure tabulates coordinates and ways.
func (t *gridLinks) measure() {
	k := len(t.grid.Dims)
	t.coords, t.ways, t.arcs = make([]int16, t.grid.Switches()*k), make([][]int16, k), make([][]arcs, k)
	for n, d := range t.devices {
		for dim, x := range t.graph.Device(d).Coord {
			t.coords[n*k+dim] = int16(x)
		}
	}
	for dim, size := range t.grid.Dims {
		t.sure = append(t.sure, .3+.7*float64(dim)/float64(max(1, k-1)))
		t.ways[dim], t.arcs[dim] = make([]int16, size*size), make([]arcs, size)
		for from := range size {
			for to := range size {
				steps, ahead := t.way(from, to, size)
				if !ahead {
					steps = -steps
				}
				t.ways[dim][from*size+to] = int16(steps)
				switch {
				case steps > 0:
					t.arcs[dim][to].ahead++
				case steps < 0:
					t.arcs[dim][to].back++
				}
			}
		}
	}
}

// way is how far and which way round a line is travelled, the shorter one; of equals as simulate/routing does.
func (t *gridLinks) way(from, to, size int) (steps int, ahead bool) {
	if !t.grid.Wrap {
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
