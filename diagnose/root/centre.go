package root

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

const (
	// clearCentre is the most that any other switch has, of the stall at the links of the centre.
	clearCentre = .75
	// centreLinks is how many of the centre's links stall at least.
	centreLinks = 3
)

// HasCentre reports whether a region lies around one switch, at whose links most of its stall is: what is not taken there waits
// around it. Each link of the region counts by its weight.
func (f *Finder) HasCentre(links []schema.LinkID, weight []float64) bool {
	w := &f.centre
	for i, l := range links {
		from, to := f.graph.Ends(l)
		w.add(from, weight[i])
		w.add(to, weight[i])
	}
	centre, most, second := topology.DeviceID(0), 0., 0.
	for _, d := range w.devices {
		switch sum := w.stall[d]; {
		case sum > most || sum == most && d < centre:
			centre, most, second = d, sum, most
		case sum > second:
			second = sum
		}
	}
	clear := second/most <= clearCentre && w.links[centre] >= centreLinks
	w.reset()
	return clear
}

// centres are the devices at the links of a region. Its memory is used again by the next region.
type centres struct {
	devices []topology.DeviceID
	stall   []float64 // by device, of its links
	links   []int32   // by device, how many
}

func newCentres(devices int) centres {
	return centres{stall: make([]float64, devices), links: make([]int32, devices)}
}

func (c *centres) add(d topology.DeviceID, stall float64) {
	if c.links[d] == 0 {
		c.devices = append(c.devices, d)
	}
	c.stall[d] += stall
	c.links[d]++
}

func (c *centres) reset() {
	for _, d := range c.devices {
		c.stall[d], c.links[d] = 0, 0
	}
	c.devices = c.devices[:0]
}
