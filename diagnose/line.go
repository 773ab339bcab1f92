package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

const (
	// lineStall is from which stall on, percent, a link of a line has packets that wait all the time.
	lineStall = 20
	// fromLine is the share of what a switch passes on along a line that it received over the line.
	fromLine = .5
	// beyondLine is how much stall on a line that cannot be of traffic to a switch counts against it.
	beyondLine = 2
	// leastMeets is the least that the links of a line must agree for its end to be named.
	leastMeets = .6
)

// meets is how well what links of the last dimension through a switch carry, of what was added where load was, agrees with
// traffic that ends there, at most 1. Under dimension-order routing all that goes to one switch, whoever sends it, comes
// together on that line. While all have packets that wait, a switch serves its inputs in turn, so that of what it passes on
// about half came over the line and the rest from its other links and its nodes: from the end on a link carries half of what
// the one before it does, both ways. Links that stall farther off than any route to the switch is long speak against it.
func (t *gridLinks) meets(end topology.DeviceID, h *held, p *pressure) float64 {
	k := len(t.grid.Dims)
	size := t.grid.Dims[k-1]
	stride := t.grid.Switches() / size
	at := int(t.numbers[end])
	z := at / stride
	after := func(x int) schema.LinkID { return t.next[(at+((x+size)%size-z)*stride)*k+k-1] }
	squares, stalled := 0., 0.
	for x := range size {
		if l := after(x); l != schema.NoLink {
			v := h.flow(l, p)
			squares += v * v
			if v := p.stallOf(l); v >= lineStall {
				stalled += v
			}
		}
	}
	dot, parts, reached := 0., 0., 0.
	for _, step := range [2]int{1, -1} {
		part := 1.
		for x := range size / 2 {
			l := after(z + x)
			if step < 0 {
				l = after(z - x - 1)
			}
			if l == schema.NoLink || p.stallOf(l) < lineStall {
				break
			}
			dot += part * h.flow(l, p)
			parts += part * part
			reached += p.stallOf(l)
			part *= fromLine
		}
	}
	if squares*parts == 0 {
		return 0
	}
	return dot/math.Sqrt(squares*parts) - beyondLine*max(0, 1-reached/stalled)
}

// meetsElsewhere reports whether load was added to a region of a grid that meets at a switch which is none of a job's, nor
// beside one on the line: what its nodes exchange ends at them.
func (s *Stage) meetsElsewhere(rc *regionCase, c *suspect) bool {
	d := &rc.drain
	if !d.meets || !rc.flooded || c.file {
		return false
	}
	t := s.router.grid
	k := len(t.grid.Dims)
	near := func(own topology.DeviceID) bool {
		steps := 0
		for dim, size := range t.grid.Dims {
			away := int(t.ways[dim][int(t.coords[int(t.numbers[own])*k+dim])*size+int(t.coords[int(t.numbers[d.meet])*k+dim])])
			if away = max(away, -away); dim < k-1 && away > 0 {
				return false
			}
			steps = away
		}
		return steps <= 1
	}
	return !slices.ContainsFunc(c.job.devices, near)
}

// flow is what a link carries of the traffic of a region, bytes/s: what was added, where load was.
func (h *held) flow(l schema.LinkID, p *pressure) float64 {
	if h.grew {
		return h.look(l, p).added
	}
	return max(0, p.useOf(l)) / 100 * p.graph.Capacity(l)
}
