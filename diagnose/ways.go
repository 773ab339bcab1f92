package diagnose

// measure tabulates coordinates and ways.
func (t *gridLinks) measure() {
	k := len(t.grid.Dims)
	t.coords, t.ways = make([]int16, t.grid.Switches()*k), make([][]int16, k)
	for n, d := range t.devices {
		for dim, x := range t.graph.Device(d).Coord {
			t.coords[n*k+dim] = int16(x)
		}
	}
	for dim, size := range t.grid.Dims {
		t.ways[dim] = make([]int16, size*size)
		for from := range size {
			for to := range size {
				steps, ahead := t.way(from, to, size)
				if !ahead {
					steps = -steps
				}
				t.ways[dim][from*size+to] = int16(steps)
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
