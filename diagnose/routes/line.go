package routes

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Line is the line of one dimension of a grid through a switch. Under dimension-order routing, all traffic to the
// switch merges on the line of the last dimension that any of it travels.
type Line struct {
	Size int // switches
	X    int // index of the switch on the line, from 0

	grid               *Grid
	dim, first, stride int // number of the switch at index 0, and step from one switch to the next
}

// Line returns the line of a dimension through a switch.
func (g *Grid) Line(at topology.DeviceID, dim int) Line {
	l := Line{grid: g, Size: g.shape.Dims[dim], dim: dim, stride: g.strides[dim]}
	l.X = g.coord(at, dim)
	l.first = int(g.numbers[at]) - l.X*l.stride
	return l
}

// Has reports whether a switch is on the line.
func (l *Line) Has(d topology.DeviceID) bool {
	return int(l.grid.numbers[d])-l.grid.coord(d, l.dim)*l.stride == l.first
}

// number is the number of the switch steps further on, at most once round.
func (l *Line) number(steps int) int { return l.first + wrapped(l.X+steps, l.Size)*l.stride }

// Device is the switch steps further on, at most once round.
func (l *Line) Device(steps int) topology.DeviceID { return l.grid.devices[l.number(steps)] }

// Link is the link n links from the switch, forward, or back if step is -1; NoLink past the end of the line.
func (l *Line) Link(n, step int) schema.LinkID {
	if step < 0 {
		n = -n - 1
	}
	return l.grid.next[l.number(n)*len(l.grid.shape.Dims)+l.dim]
}
