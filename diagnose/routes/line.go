package routes

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Line is the line of one dimension of a grid through a switch: by dimension-order routing all that goes to the switch comes
// together on that of the last dimension in which any of it travels.
type Line struct {
	Size int // switches
	X    int // place of the switch on the line, from 0

	grid               *Grid
	dim, first, stride int // number of the switch at place 0, and from one switch to the next
}

// Line is the line of a dimension through a switch.
func (g *Grid) Line(at topology.DeviceID, dim int) Line {
	l := Line{grid: g, Size: g.shape.Dims[dim], dim: dim, stride: 1}
	for _, size := range g.shape.Dims[:dim] {
		l.stride *= size
	}
	l.X = g.coord(at, dim)
	l.first = int(g.numbers[at]) - l.X*l.stride
	return l
}

// Has reports whether a switch is on the line.
func (l *Line) Has(d topology.DeviceID) bool {
	return int(l.grid.numbers[d])-l.grid.coord(d, l.dim)*l.stride == l.first
}

// number is that of the switch so many steps on from the line's own, at most once round.
func (l *Line) number(steps int) int { return l.first + wrapped(l.X+steps, l.Size)*l.stride }

// Device is the switch so many steps on from the line's own.
func (l *Line) Device(steps int) topology.DeviceID { return l.grid.devices[l.number(steps)] }

// Link is the one after n others from the switch on, forward or, with a step of -1, back; NoLink where the line ends.
func (l *Line) Link(n, step int) schema.LinkID {
	if step < 0 {
		n = -n - 1
	}
	return l.grid.next[l.number(n)*len(l.grid.shape.Dims)+l.dim]
}
