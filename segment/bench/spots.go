package bench

import (
	"math"
	"slices"
)

// spots tracks the taken cells of a space, and the cells too close to them.
type spots struct {
	space    space
	distance int       // in cells, in each dimension
	owner    []int32   // by cell: the last owner that took it, or -1
	near     []bool    // by cell: within distance of a taken cell
	levels   []float64 // by owner
	free     []cell    // cache of beside; nil: invalid
}

func newSpots(s space, distance int) *spots {
	p := &spots{space: s, distance: distance, owner: make([]int32, s.cells()), near: make([]bool, s.cells())}
	for i := range p.owner {
		p.owner[i] = -1
	}
	return p
}

// take assigns the cells to a new owner.
func (p *spots) take(cells []cell, level float64) {
	d := p.distance
	for _, q := range cells {
		p.owner[p.space.number(q)] = int32(len(p.levels))
		for dz := -d; dz <= d; dz++ {
			for dy := -d; dy <= d; dy++ {
				for dx := -d; dx <= d; dx++ {
					p.near[p.space.number(p.space.wrap(cell{q[0] + dx, q[1] + dy, q[2] + dz}))] = true
				}
			}
		}
	}
	p.levels = append(p.levels, level)
	p.free = nil
}

func (p *spots) isTaken(q cell) bool { return p.owner[p.space.number(q)] >= 0 }

// crowd reports whether any of the cells is too close to a taken one.
func (p *spots) crowd(cells []cell) bool {
	return slices.ContainsFunc(cells, func(q cell) bool { return p.near[p.space.number(q)] })
}

// beside lists the free cells next to taken ones, once per taken neighbour.
func (p *spots) beside() []cell {
	if p.free != nil {
		return p.free
	}
	for x := range p.space.dims[0] {
		for y := range p.space.dims[1] {
			for z := range p.space.dims[2] {
				p.addFree(cell{x, y, z})
			}
		}
	}
	return p.free
}

func (p *spots) addFree(q cell) {
	if n := p.space.number(q); !p.near[n] || p.owner[n] >= 0 {
		return
	}
	for _, r := range p.space.neighbours(q) {
		if p.isTaken(r) {
			p.free = append(p.free, q)
		}
	}
}

// standsOut reports whether the levels of everything that the cells touch differ by at
// least points.
func (p *spots) standsOut(cells []cell, level, points float64) bool {
	for _, q := range cells {
		for _, r := range p.space.neighbours(q) {
			if i := p.owner[p.space.number(r)]; i >= 0 && math.Abs(p.levels[i]-level) < points {
				return false
			}
		}
	}
	return true
}
