package routes

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Line is the line of the last dimension of a grid through a switch: by dimension-order routing all that goes to the switch
// comes together on it.
type Line struct {
	Size int // switches
	X    int // place of the switch on the line, from 0

	grid          *Grid
	first, stride int // number of the switch at place 0, and from one switch to the next
}

// LastLine is the line of the last dimension through a switch.
func (g *Grid) LastLine(at topology.DeviceID) Line {
	size := g.shape.Dims[len(g.shape.Dims)-1]
	l := Line{grid: g, Size: size, stride: g.shape.Switches() / size}
	l.X = int(g.numbers[at]) / l.stride
	l.first = int(g.numbers[at]) - l.X*l.stride
	return l
}

// Has reports whether a switch is on the line.
func (l *Line) Has(d topology.DeviceID) bool { return int(l.grid.numbers[d])%l.stride == l.first }

// number is that of the switch so many steps on from the line's own.
func (l *Line) number(steps int) int {
	return l.first + ((l.X+steps)%l.Size+l.Size)%l.Size*l.stride
}

// Device is the switch so many steps on from the line's own.
func (l *Line) Device(steps int) topology.DeviceID { return l.grid.devices[l.number(steps)] }

// Link is the one after n others from the switch on, forward or, with a step of -1, back; NoLink where the line ends.
func (l *Line) Link(n, step int) schema.LinkID {
	if step < 0 {
		n = -n - 1
	}
	k := len(l.grid.shape.Dims)
	return l.grid.next[l.number(n)*k+k-1]
}
