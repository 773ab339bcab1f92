package bench

import (
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
)

// cell is a switch of a three-dimensional torus; coordinates may be out of range until
// wrapped.
type cell [3]int

// space places shapes on a torus.
type space struct{ dims cell }

func (c *canvas) space() space {
	d := c.g.Grid().Dims
	return space{cell{d[0], d[1], d[2]}}
}

func (s space) wrap(p cell) cell {
	for i, n := range s.dims {
		p[i] = ((p[i] % n) + n) % n
	}
	return p
}

// cells is the number of cells; number numbers them from 0.
func (s space) cells() int        { return s.dims[0] * s.dims[1] * s.dims[2] }
func (s space) number(p cell) int { return p[0] + s.dims[0]*(p[1]+s.dims[1]*p[2]) }

// links returns the links that leave the cells in + direction.
func (s space) links(cells []cell) []schema.LinkID {
	var out []schema.LinkID
	for _, p := range cells {
		p = s.wrap(p)
		first := 3 * s.number(p)
		for dim := range 3 {
			out = append(out, schema.LinkID(first+dim))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// neighbours returns the six cells next to p.
func (s space) neighbours(p cell) (out [6]cell) {
	for i := range 6 {
		q := p
		q[i/2] += 1 - 2*(i%2)
		out[i] = s.wrap(q)
	}
	return out
}

func (s space) moved(cells []cell, by cell) []cell {
	out := make([]cell, len(cells))
	for i, p := range cells {
		out[i] = s.wrap(cell{p[0] + by[0], p[1] + by[1], p[2] + by[2]})
	}
	return out
}

// cuboid returns the cells from the origin to size, exclusive.
func cuboid(size cell) []cell {
	var out []cell
	for z := range size[2] {
		for y := range size[1] {
			for x := range size[0] {
				out = append(out, cell{x, y, z})
			}
		}
	}
	return out
}

// ellipsoid returns the cells within the given half axes.
func ellipsoid(rx, ry, rz float64) []cell {
	var out []cell
	for _, p := range cuboid(cell{int(2*rx) + 3, int(2*ry) + 3, int(2*rz) + 3}) {
		x, y, z := float64(p[0])-rx-1, float64(p[1])-ry-1, float64(p[2])-rz-1
		if x*x/(rx*rx)+y*y/(ry*ry)+z*z/(rz*rz) <= 1 {
			out = append(out, p)
		}
	}
	return out
}

// blob grows cell by cell, preferring cells with several neighbours inside.
func (c *canvas) blob(s space, size int) []cell {
	inside := c.marks(s)
	inside[0] = true
	cells := []cell{{}}
	for len(cells) < size {
		var best cell
		most := -1
		for range 3 {
			q := s.neighbours(cells[c.rng.Intn(len(cells))])[c.rng.Intn(6)]
			if inside[s.number(q)] {
				continue
			}
			n := 0
			for _, r := range s.neighbours(q) {
				if inside[s.number(r)] {
					n++
				}
			}
			if n > most {
				best, most = q, n
			}
		}
		if most >= 0 {
			inside[s.number(best)] = true
			cells = append(cells, best)
		}
	}
	return cells
}

// pencil is a long, thin cuboid.
func (c *canvas) pencil(length, thickness whole) []cell {
	var size cell
	along := c.rng.Intn(3)
	for i := range size {
		size[i] = c.count(thickness)
	}
	size[along] = c.count(length)
	return cuboid(size)
}

// waves is a smooth field around 0, between about -1 and 1, by cell.
func (c *canvas) waves(s space) []float64 {
	type wave struct {
		number [3]float64
		phase  float64
	}
	var ws [3]wave
	for i := range ws {
		for d := range 3 {
			ws[i].number[d] = 2 * math.Pi * float64(c.between(0, 2)) / float64(s.dims[d])
		}
		ws[i].phase = c.uniform(0, 2*math.Pi)
	}
	field := make([]float64, 0, s.cells())
	for _, p := range cuboid(s.dims) {
		sum := 0.
		for _, w := range ws {
			sum += math.Sin(w.number[0]*float64(p[0]) + w.number[1]*float64(p[1]) + w.number[2]*float64(p[2]) + w.phase)
		}
		field = append(field, sum/float64(len(ws)))
	}
	return field
}

// marks returns one cleared mark per cell, valid until the next call.
func (c *canvas) marks(s space) []bool {
	if c.scratch == nil {
		c.scratch = make([]bool, s.cells())
	}
	clear(c.scratch)
	return c.scratch
}

func (c *canvas) cellOf(link schema.LinkID) cell {
	from, _ := c.g.Ends(link)
	p := c.g.Device(from).Coord
	return cell{p[0], p[1], p[2]}
}
