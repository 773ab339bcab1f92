package bench

import (
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// hard draws regions of four shapes, half of them against another one, and all
// that real counters do to them.
func (c *canvas) hard() {
	s := c.space()
	for i := range c.layers {
		l := &c.layers[i]
		wave := c.waves(s)
		for id := range l.value {
			l.value[id] = max(0, 1.5+1.2*wave(c.cellOf(schema.LinkID(id))))
		}
	}
	placed := make([]placement, len(c.layers))
	for i := range placed {
		placed[i].owner = map[cell]int{}
	}
	for range c.between(2, 8) {
		i := c.rng.Intn(len(c.layers))
		if cells, level, ok := c.place(s, &placed[i]); ok {
			c.paint(s, &c.layers[i], &placed[i], cells, level)
		}
	}
	for i := range c.layers {
		c.halo(&c.layers[i])
		c.spoil(&c.layers[i])
		c.lose(s, &c.layers[i])
		c.layers[i].clip()
	}
}

// placement is what lies where on one layer.
type placement struct {
	owner  map[cell]int // index of a region
	levels []float64
}

func (c *canvas) shape(s space) []cell {
	switch c.rng.Intn(4) {
	case 0:
		return cuboid(cell{c.between(3, 9), c.between(3, 9), c.between(3, 9)})
	case 1:
		return ellipsoid(c.uniform(1.5, 4.5), c.uniform(1.5, 4.5), c.uniform(1.5, 4.5))
	case 2:
		return c.blob(s, c.between(20, 250))
	}
	return c.pencil()
}

// place finds a free spot for a shape; in half of the cases one that touches
// an earlier region, at a level at least 7 points away.
func (c *canvas) place(s space, p *placement) (cells []cell, level float64, ok bool) {
	touch := len(p.levels) > 0 && c.rng.Intn(2) == 0
	for range 300 {
		shape := c.shape(s)
		level = c.uniform(10, 60)
		to := cell{c.rng.Intn(s.dims[0]), c.rng.Intn(s.dims[1]), c.rng.Intn(s.dims[2])}
		from := shape[c.rng.Intn(len(shape))]
		if touch {
			to = c.besideRegion(s, p)
		}
		cells = s.moved(shape, cell{to[0] - from[0], to[1] - from[1], to[2] - from[2]})
		if !touch {
			taken := map[cell]bool{}
			for q := range p.owner {
				taken[q] = true
			}
			if !c.crowded(s, cells, taken, 3) {
				return cells, level, true
			}
			continue
		}
		before := len(cells)
		cells = slices.DeleteFunc(cells, func(q cell) bool { _, in := p.owner[q]; return in })
		if len(cells)*10 >= before*7 && connected(s, cells) && farFromNeighbours(s, p, cells, level, 7) {
			return cells, level, true
		}
	}
	return nil, 0, false
}

// besideRegion is a free cell next to a taken one.
func (c *canvas) besideRegion(s space, p *placement) cell {
	var beside []cell
	for q := range p.owner {
		for _, r := range s.neighbours(q) {
			if _, in := p.owner[r]; !in {
				beside = append(beside, r)
			}
		}
	}
	slices.SortFunc(beside, func(a, b cell) int { return slices.Compare(a[:], b[:]) })
	return beside[c.rng.Intn(len(beside))]
}

func connected(s space, cells []cell) bool {
	left := map[cell]bool{}
	for _, p := range cells {
		left[p] = true
	}
	var stack []cell
	for p := range left {
		stack = append(stack, p)
		delete(left, p)
		break
	}
	for len(stack) > 0 {
		p := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, q := range s.neighbours(p) {
			if left[q] {
				delete(left, q)
				stack = append(stack, q)
			}
		}
	}
	return len(left) == 0 && len(cells) > 0
}

func farFromNeighbours(s space, p *placement, cells []cell, level, points float64) bool {
	for _, q := range cells {
		for _, r := range s.neighbours(q) {
			if i, in := p.owner[r]; in && math.Abs(p.levels[i]-level) < points {
				return false
			}
		}
	}
	return true
}

// paint gives the links of the cells their level: lower at the edge by up to a
// quarter, with a slope across.
func (c *canvas) paint(s space, l *layer, p *placement, cells []cell, level float64) {
	for _, q := range cells {
		p.owner[q] = len(p.levels)
	}
	p.levels = append(p.levels, level)
	links := s.links(cells)
	inside := map[schema.LinkID]bool{}
	for _, id := range links {
		inside[id] = true
	}
	drop, slope := c.uniform(0, .25), c.uniform(0, .12)
	direction := [3]float64{c.rng.NormFloat64(), c.rng.NormFloat64(), c.rng.NormFloat64()}
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
	var near []schema.LinkID
	for _, id := range links {
		v := level
		if high > low {
			v *= 1 + slope*(2*(along(id)-low)/(high-low)-1)
		}
		near = c.g.AppendNeighbours(near[:0], id)
		if slices.ContainsFunc(near, func(n schema.LinkID) bool { return !inside[n] }) {
			v *= 1 - drop
		}
		l.value[id] = v
	}
	l.regions = append(l.regions, links)
}

// halo raises the links around each region by up to 4.5 points, half as much at
// twice the distance.
func (c *canvas) halo(l *layer) {
	inRegion := make([]bool, len(l.value))
	for _, r := range l.regions {
		for _, id := range r {
			inRegion[id] = true
		}
	}
	lift := make([]float64, len(l.value))
	var near, far []schema.LinkID
	for _, r := range l.regions {
		height := c.uniform(0, 4.5)
		for _, id := range r {
			near = c.g.AppendNeighbours(near[:0], id)
			for _, n := range near {
				lift[n] = max(lift[n], height)
				far = c.g.AppendNeighbours(far[:0], n)
				for _, f := range far {
					lift[f] = max(lift[f], height/2)
				}
			}
		}
	}
	for id := range l.value {
		if !inRegion[id] {
			l.value[id] += lift[id]
		}
	}
}

// spoil adds noise that grows with the value, and false readings.
func (c *canvas) spoil(l *layer) {
	for id, v := range l.value {
		v += c.student3() * (1.2 + .05*v)
		switch u := c.rng.Float64(); {
		case u < .005:
			v = c.uniform(10, 90)
		case u < .015:
			v = 0
		}
		l.value[id] = v
	}
}

// lose takes about 5% of the readings: single links, whole switches, and blades
// of two switches.
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
