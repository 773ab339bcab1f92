package bench

import (
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// rough is regions of four shapes, half of them touching another, with the artefacts of
// real counters.
type rough struct {
	number      whole
	percent     span
	side        whole   // cells, of a cuboid
	halfAxis    span    // cells, of an ellipsoid
	cells       whole   // of a blob
	length      whole   // cells, of a pencil
	thickness   whole   // cells, of a pencil
	apart       int     // cells between non-touching regions
	calm, waves float64 // percent: level of the background, amplitude of its waves
	edgeDrop    span    // share of its level that a region loses at its edge
	edgeWidth   whole   // links over which the level drops
	slope       span    // share of its level by which a region's ends differ
	haloPercent span    // rise of the links around a region
	haloWidth   whole   // links over which the halo fades
	freedom     int     // degrees of freedom of Student's t
}

// hard follows the description of the set of that name in Giverny's first design, which
// gives the scores of two known methods; unspecified parameters (sizes, numbers,
// slopes) are chosen to reproduce about those scores.
func hard() rough {
	return rough{number: whole{4, 8}, percent: span{10, 60}, side: whole{4, 11}, halfAxis: span{2.2, 6.5}, cells: whole{74, 652},
		length: whole{13, 23}, thickness: whole{1, 3}, apart: 1, calm: 1.5, waves: .5, edgeDrop: span{0, .25}, edgeWidth: whole{1, 1},
		slope: span{0, .05}, haloPercent: span{0, 4.5}, haloWidth: whole{2, 2}, freedom: 3}
}

// hard2 has regions of half the size in each direction, more edge than inside, and
// steeper slopes.
func hard2() rough {
	p := hard()
	p.number, p.side, p.halfAxis, p.cells = whole{2, 8}, whole{3, 9}, span{1.5, 4.5}, whole{20, 250}
	p.length, p.thickness, p.apart = whole{9, 18}, whole{1, 2}, 3
	p.waves, p.slope = 1.2, span{0, .12}
	return p
}

// hard3 has wider edges and halos than hard2.
func hard3() rough {
	p := hard2()
	p.edgeDrop, p.edgeWidth = span{0, .3}, whole{1, 3}
	p.haloPercent, p.haloWidth = span{0, 6}, whole{1, 3}
	p.freedom = 4
	return p
}

func (p rough) draw(c *canvas) {
	s := c.space()
	for i := range c.layers {
		l := &c.layers[i]
		for cell, wave := range c.waves(s) {
			for id := 3 * cell; id < 3*cell+3; id++ {
				l.value[id] = max(0, p.calm+p.waves*wave)
			}
		}
	}
	placed := make([]*spots, len(c.layers))
	for i := range placed {
		placed[i] = newSpots(s, p.apart)
	}
	for range c.count(p.number) {
		i := c.rng.Intn(len(c.layers))
		if cells, level, ok := p.place(c, placed[i]); ok {
			placed[i].take(cells, level)
			p.paint(c, s, &c.layers[i], cells, level)
		}
	}
	for i := range c.layers {
		p.halo(c, &c.layers[i])
		p.addNoise(c, &c.layers[i])
		c.lose(s, &c.layers[i])
		c.layers[i].clip()
	}
}

func (p rough) shape(c *canvas, s space) []cell {
	switch c.rng.Intn(4) {
	case 0:
		return cuboid(cell{c.count(p.side), c.count(p.side), c.count(p.side)})
	case 1:
		return ellipsoid(c.from(p.halfAxis), c.from(p.halfAxis), c.from(p.halfAxis))
	case 2:
		return c.blob(s, c.count(p.cells))
	}
	return c.pencil(p.length, p.thickness)
}

// place finds a free position for a shape; in half of the cases one touching an earlier
// region whose level differs by at least 7 points.
func (p rough) place(c *canvas, placed *spots) (cells []cell, level float64, ok bool) {
	s := placed.space
	touch := len(placed.levels) > 0 && c.rng.Intn(2) == 0
	for range 300 {
		shape := p.shape(c, s)
		level = c.from(p.percent)
		to := cell{c.rng.Intn(s.dims[0]), c.rng.Intn(s.dims[1]), c.rng.Intn(s.dims[2])}
		from := shape[c.rng.Intn(len(shape))]
		if touch {
			beside := placed.beside()
			to = beside[c.rng.Intn(len(beside))]
		}
		cells = s.moved(shape, cell{to[0] - from[0], to[1] - from[1], to[2] - from[2]})
		if !touch {
			if !placed.crowd(cells) {
				return cells, level, true
			}
			continue
		}
		before := len(cells)
		cells = slices.DeleteFunc(cells, placed.isTaken)
		if len(cells)*10 >= before*7 && c.connected(s, cells) && placed.standsOut(cells, level, 7) {
			return cells, level, true
		}
	}
	return nil, 0, false
}

// connected reports whether the cells are connected.
func (c *canvas) connected(s space, cells []cell) bool {
	if len(cells) == 0 {
		return false
	}
	left := c.marks(s)
	for _, p := range cells {
		left[s.number(p)] = true
	}
	stack := []cell{cells[0]}
	left[s.number(cells[0])] = false
	seen := 1
	for len(stack) > 0 {
		p := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, q := range s.neighbours(p) {
			if n := s.number(q); left[n] {
				left[n] = false
				seen++
				stack = append(stack, q)
			}
		}
	}
	return seen == len(cells)
}

// paint sets the links of the cells to their level, lower towards the edge and with a
// slope across.
func (p rough) paint(c *canvas, s space, l *layer, cells []cell, level float64) {
	links := s.links(cells)
	drop, slope := c.from(p.edgeDrop), c.from(p.slope)
	direction := [3]float64{c.rng.NormFloat64(), c.rng.NormFloat64(), c.rng.NormFloat64()}
	width := c.count(p.edgeWidth)
	origin := c.cellOf(links[0])
	along := func(id schema.LinkID) float64 {
		at, sum := c.cellOf(id), 0.
		for d, n := range s.dims {
			diff := (at[d]-origin[d]+n+n/2)%n - n/2
			sum += direction[d] * float64(diff)
		}
		return sum
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, id := range links {
		low, high = min(low, along(id)), max(high, along(id))
	}
	for i, depth := range c.depths(links, width) {
		v := level
		if high > low {
			v *= 1 + slope*(2*(along(links[i])-low)/(high-low)-1)
		}
		if depth < width {
			v *= 1 - drop*(1-float64(depth)/float64(width))
		}
		l.value[links[i]] = v
	}
	l.regions = append(l.regions, links)
}

// depths returns the distance of each link from the edge of its region, in steps across
// switches, up to limit.
func (c *canvas) depths(links []schema.LinkID, limit int) []int {
	depth := map[schema.LinkID]int{} // of links inside
	for _, id := range links {
		depth[id] = limit
	}
	var near []schema.LinkID
	for d := range limit {
		for _, id := range links {
			if depth[id] != limit {
				continue
			}
			near = c.g.AppendNeighbours(near[:0], id)
			if slices.ContainsFunc(near, func(n schema.LinkID) bool {
				of, inside := depth[n]
				return d == 0 && !inside || d > 0 && of == d-1
			}) {
				depth[id] = d
			}
		}
	}
	out := make([]int, len(links))
	for i, id := range links {
		out[i] = depth[id]
	}
	return out
}

// halo raises the links around each region, decreasing with distance.
func (p rough) halo(c *canvas, l *layer) {
	inRegion := make([]bool, len(l.value))
	for _, r := range l.regions {
		for _, id := range r {
			inRegion[id] = true
		}
	}
	lift := make([]float64, len(l.value))
	for _, r := range l.regions {
		height, width := c.from(p.haloPercent), c.count(p.haloWidth)
		seen := map[schema.LinkID]bool{}
		for _, id := range r {
			seen[id] = true
		}
		ring := r
		for d := range width {
			ring = c.around(ring, seen)
			for _, id := range ring {
				lift[id] = max(lift[id], height*(1-float64(d)/float64(width)))
			}
		}
	}
	for id := range l.value {
		if !inRegion[id] {
			l.value[id] += lift[id]
		}
	}
}

// around returns the neighbours of some links that have not been seen, and adds them to seen.
func (c *canvas) around(links []schema.LinkID, seen map[schema.LinkID]bool) (ring []schema.LinkID) {
	var near []schema.LinkID
	for _, id := range links {
		near = c.g.AppendNeighbours(near[:0], id)
		for _, n := range near {
			if !seen[n] {
				seen[n] = true
				ring = append(ring, n)
			}
		}
	}
	return ring
}

// addNoise adds noise that grows with the value, and false readings.
func (p rough) addNoise(c *canvas, l *layer) {
	for id, v := range l.value {
		v += c.studentT(p.freedom) * (1.2 + .05*v)
		switch u := c.rng.Float64(); {
		case u < .005:
			v = c.uniform(10, 90)
		case u < .015:
			v = 0
		}
		l.value[id] = v
	}
}

// studentT draws from Student's t distribution with n degrees of freedom.
func (c *canvas) studentT(n int) float64 {
	normal := c.rng.NormFloat64()
	chi := 0.
	for range n {
		x := c.rng.NormFloat64()
		chi += x * x
	}
	return normal / math.Sqrt(chi/float64(n))
}

// lose removes about 5% of the readings: single links, whole switches, and blades of
// two switches.
func (c *canvas) lose(s space, l *layer) {
	n := len(l.value)
	for range n * 2 / 100 {
		l.missing.Set(c.rng.Intn(n))
	}
	atSwitch := func(p cell) {
		for _, id := range c.g.LinksAt(topology.DeviceID(c.g.Grid().Number(p[:]))) {
			l.missing.Set(int(id))
		}
	}
	random := func() cell {
		return cell{c.rng.Intn(s.dims[0]), c.rng.Intn(s.dims[1]), c.rng.Intn(s.dims[2])}
	}
	for range n / 3 / 100 {
		atSwitch(random())
	}
	for range n / 3 / 400 {
		p := random()
		atSwitch(p)
		p[2]++
		atSwitch(s.wrap(p))
	}
}
