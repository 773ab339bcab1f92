package topology

import "github.com/giverny/giverny/schema"

// Grid is the coordinate system of a torus or mesh: switch (x, y, z, ...) has
// number x + X*(y + Y*(z + ...)).
type Grid struct {
	Dims []int
	Wrap bool // torus: the last switch of a line is connected to the first
}

// Switches is the number of grid points.
func (g *Grid) Switches() int {
	n := 1
	for _, d := range g.Dims {
		n *= d
	}
	return n
}

// Coord writes the coordinates of switch number n into c.
func (g *Grid) Coord(n int, c []int) {
	for i, d := range g.Dims {
		c[i] = n % d
		n /= d
	}
}

// Number is the number of the switch at coordinates c.
func (g *Grid) Number(c []int) int {
	n := 0
	for i := len(g.Dims) - 1; i >= 0; i-- {
		n = n*g.Dims[i] + c[i]
	}
	return n
}

// halfCoord writes into c the doubled coordinates of a grid link: the midpoint of its
// two switches (Monet, section 4.2), times two to make it integral.
func (g *Graph) halfCoord(id schema.LinkID, c []int) {
	for i, x := range g.devices[g.from[id]].Coord {
		c[i] = 2 * x
	}
	c[g.dim[id]]++
}

// L1 is the distance between two links on a torus or mesh: the L1 norm between their
// midpoints, with wraparound, in switch spacings. It is a whole number: for links of
// different dimensions two halves add up to one. Links that share a switch are at most
// 1 apart. It panics without a grid.
func (g *Graph) L1(a, b schema.LinkID) int {
	var pa, pb [8]int
	n := len(g.grid.Dims)
	g.halfCoord(a, pa[:n])
	g.halfCoord(b, pb[:n])
	sum := 0
	for i, dim := range g.grid.Dims {
		d := pa[i] - pb[i]
		if d < 0 {
			d = -d
		}
		if g.grid.Wrap && 2*dim-d < d {
			d = 2*dim - d
		}
		sum += d
	}
	return sum / 2
}
