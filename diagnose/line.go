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
	// How much stall on a line that cannot be of traffic to a switch counts against it: where nothing was added less, as
	// what is held back fills the buffers of others too, whose traffic then stalls on its own way.
	beyondAdded, beyondHeld = 2, .5
	// sideStall is what the mean stall of a switch's links that are not of the line speaks against the end being there.
	sideStall = .7
	// Of what arrives where most does, what it counts that it arrives at a switch, and that it is not seen where added load
	// comes from.
	arrivesWeight, unmetWeight = .5, 2
	// leastMeets is the least that the links of a line must agree for its end to be named.
	leastMeets = .2
)

// meeting is the switch of a grid at which the traffic of a region comes together, whoever sends it.
type meeting struct {
	device topology.DeviceID
	agree  float64 // how well what links of its line carry agrees with that; 0: not at all
	grew   bool    // load was added on these links
}

// gridLine is the line of the last dimension of a grid through a switch.
type gridLine struct {
	links             *gridLinks
	first, x          int // number of its first switch, and the place of the switch on it
	size, stride, dim int
}

func (t *gridLinks) lineOf(at topology.DeviceID) gridLine {
	dim := len(t.grid.Dims) - 1
	l := gridLine{links: t, size: t.grid.Dims[dim], stride: t.grid.Switches() / t.grid.Dims[dim], dim: dim}
	l.x = int(t.numbers[at]) / l.stride
	l.first = int(t.numbers[at]) - l.x*l.stride
	return l
}

// number is that of the switch so many steps on from the line's own.
func (l *gridLine) number(steps int) int {
	return l.first + ((l.x+steps)%l.size+l.size)%l.size*l.stride
}

func (l *gridLine) device(steps int) topology.DeviceID { return l.links.devices[l.number(steps)] }

// link is the one after n others from the switch on, forward or, with a step of -1, back.
func (l *gridLine) link(n, step int) schema.LinkID {
	if step < 0 {
		n = -n - 1
	}
	return l.links.next[l.number(n)*(l.dim+1)+l.dim]
}

// held is how many links from the switch on stall, at most as many as a route along the line has.
func (l *gridLine) held(step int, p *pressure) (n int) {
	for n < l.size/2 {
		if on := l.link(n, step); on == schema.NoLink || p.stallOf(on) < lineStall {
			break
		}
		n++
	}
	return n
}

// known reports whether the switch may be named.
func (m *meeting) known() bool { return m.agree >= leastMeets }

// meetingOf is the best of the switches at which traffic may meet. It notes how well each does.
func (t *gridLinks) meetingOf(ends []topology.DeviceID, h *held, p *pressure) (best meeting) {
	best.device = ends[0]
	h.meets, h.arrives = h.meets[:0], h.arrives[:0]
	tried := h.tries[:0]
	most := 1.
	for _, d := range ends {
		agree, grew := t.meets(d, h, p)
		arrives := t.arrives(d, grew, h, p)
		tried = append(tried, meeting{d, agree, grew})
		h.arrives, most = append(h.arrives, arrives), max(most, arrives)
	}
	h.tries = tried
	highest := math.Inf(-1)
	for i, m := range tried {
		score := m.agree + (arrivesWeight*h.arrives[i]-unmetWeight*t.unmet(&m, h, p))/most - sideStall*t.sides(m.device, p)/100
		if h.meets = append(h.meets, score); m.agree > 0 && score > highest {
			best, highest = m, score
		}
	}
	best.grew = best.grew && best.known()
	return best
}

// arrives is what comes to a switch beyond others' traffic, bytes/s, if a region's traffic ends there: where load was added,
// what its links carry beyond what they did before the onset; else beyond the share of that which their stall lets through.
// Where it ends that is most: a step before the end, only the share goes on that the line gets there.
func (t *gridLinks) arrives(at topology.DeviceID, grew bool, h *held, p *pressure) float64 {
	more := func(l schema.LinkID) float64 {
		if grew {
			return h.look(l, p).added
		}
		let := 1 - min(1, p.stallOf(l)/100)
		return max(0, p.carries(l)-let*max(0, p.before(l))/100*t.graph.Capacity(l))
	}
	sum := t.fromSides(at, more, p)
	for _, l := range t.graph.LinksAt(at) {
		if int(t.graph.Link(l).Dim) == len(t.grid.Dims)-1 {
			sum += more(l)
		}
	}
	return sum
}

// fromSides is what of some traffic comes to a switch over links that are not of the last dimension. Where of a dimension one
// link stalls and the other does not, what this carries is what that brings on its way through.
func (t *gridLinks) fromSides(at topology.DeviceID, of func(schema.LinkID) float64, p *pressure) (sum float64) {
	for dim := range len(t.grid.Dims) - 1 {
		held, free := 0., 0.
		for _, l := range t.graph.LinksAt(at) {
			switch {
			case int(t.graph.Link(l).Dim) != dim:
			case p.stallOf(l) >= lineStall:
				held += of(l)
			default:
				free += of(l)
			}
		}
		if held > 0 {
			free = -min(held, free)
		}
		sum += held + free
	}
	return sum
}

// unmet is the added load, bytes/s, of which it is not seen where it comes from or goes to if all of it goes to one switch of
// the line: at every other switch what goes on along the line is what came over the line and from the other links, however
// the switch serves its inputs.
func (t *gridLinks) unmet(m *meeting, h *held, p *pressure) (sum float64) {
	if !m.grew {
		return 0
	}
	line, added := t.lineOf(m.device), func(l schema.LinkID) float64 { return h.look(l, p).added }
	for _, step := range [2]int{1, -1} {
		farther := 0.
		for n := line.held(step, p); n > 0; n-- {
			on := added(line.link(n-1, step))
			sum += math.Abs(on - farther - t.fromSides(line.device(n*step), added, p))
			farther = on
		}
	}
	return sum
}

// sides is the mean stall, percent, of a switch's links that are not of the last dimension. Where the line ends they share
// what the switch passes on as equals of the line's; a step before they share what the line gets of it: the farther from the
// end, the more they stall.
func (t *gridLinks) sides(at topology.DeviceID, p *pressure) (stall float64) {
	n := 0.
	for _, l := range t.graph.LinksAt(at) {
		if int(t.graph.Link(l).Dim) != len(t.grid.Dims)-1 {
			stall += p.stallOf(l)
			n++
		}
	}
	return stall / max(1, n)
}

// meets is how well what links of the last dimension through a switch carry agrees with traffic that ends there, at most 1,
// and whether load was added on them: then that is what is compared. A region may carry less in all while what holds it up
// is load, as full buffers hold up what others send; where it ends the load shows.
//
// Under dimension-order routing all that goes to one switch, whoever sends it, comes together on that line. While all have
// packets that wait, a switch serves its inputs in turn, so that of what it passes on about half came over the line and the
// rest from its other links and its nodes: from the end on a link carries half of what the one before it does, both ways.
// Links that stall farther off than any route to the switch is long speak against it.
func (t *gridLinks) meets(end topology.DeviceID, h *held, p *pressure) (agree float64, grew bool) {
	line := t.lineOf(end)
	var all, added, stalled float64
	for x := range line.size {
		if l := line.link(x, 1); l != schema.NoLink && p.stallOf(l) >= lineStall {
			stalled += p.stallOf(l)
			all += p.carries(l)
			added += h.look(l, p).added
		}
	}
	grew = added > grewShare*all
	flow := func(l schema.LinkID) float64 {
		if grew {
			return h.look(l, p).added
		}
		return p.carries(l)
	}
	var dot, squares, parts, reached float64
	for x := range line.size {
		if l := line.link(x, 1); l != schema.NoLink {
			squares += flow(l) * flow(l)
		}
	}
	for _, step := range [2]int{1, -1} {
		part := 1.
		for x := range line.held(step, p) {
			l := line.link(x, step)
			dot += part * flow(l)
			parts += part * part
			reached += p.stallOf(l)
			part *= fromLine
		}
	}
	if squares*parts == 0 {
		return 0, false
	}
	beyond := beyondHeld
	if grew {
		beyond = beyondAdded
	}
	return dot/math.Sqrt(squares*parts) - beyond*max(0, 1-reached/stalled), grew
}

// meetsElsewhere reports whether load was added to a region of a grid that meets at a switch which is none of a job's, nor
// beside one on the line: what its nodes exchange ends at them.
func (s *Stage) meetsElsewhere(rc *regionCase, c *suspect) bool {
	m := &rc.drain.meeting
	if !m.known() || !rc.flooded || c.file {
		return false
	}
	t := s.router.grid
	k := len(t.grid.Dims)
	near := func(own topology.DeviceID) bool {
		steps := 0
		for dim, size := range t.grid.Dims {
			away := int(t.ways[dim][int(t.coords[int(t.numbers[own])*k+dim])*size+int(t.coords[int(t.numbers[m.device])*k+dim])])
			if away = max(away, -away); dim < k-1 && away > 0 {
				return false
			}
			steps = away
		}
		return steps <= 1
	}
	return !slices.ContainsFunc(c.job.devices, near)
}

// carries is what a link carries, bytes/s; 0 if that is not known.
func (p *pressure) carries(l schema.LinkID) float64 {
	return max(0, p.useOf(l)) / 100 * p.graph.Capacity(l)
}
