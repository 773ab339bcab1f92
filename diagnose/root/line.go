package root

import (
	"math"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

const (
	// lineStall is from which stall on, percent, a link of a line has packets that wait all the time; mostStalled the share of
	// what the region's link with most does, if that is less.
	lineStall, mostStalled = 20, .5
	// fromLine is the share of what a switch passes on along a line that it received over the line.
	fromLine = .5
	// How much stall on a line that cannot be of traffic to a switch counts against it: where nothing was added less, as
	// what is held back fills the buffers of others too, whose traffic then stalls on its own way.
	beyondAdded, beyondHeld = 2, .5
	// sideStall is what the mean stall of a switch's links that are not of the line speaks against the end being there,
	// sideAdded the same where load was added.
	sideStall, sideAdded = .7, .3
	// arrivesWeight is what it counts that something arrives at a switch, of what arrives where most does.
	arrivesWeight = .5
	// Where load was added, of what arrives where most does, what it counts that added load appears on the line that comes from
	// no other link, and what it counts that links of the line stall which no route to the switch has, of their stall: the
	// weights of a conditional logit that was fitted on the ends of 66 incidents.
	appearsWeight, strayWeight = 1.1, .8
	// idleShare is the mean share of the time in which they do not send in which the links of a region stall up to which these
	// are idle for the rest. Then these weigh, near a conditional logit that was fitted on the ends of 136 incidents: how
	// well the links of the line agree, how much a switch's links stall, of the link that does most, what added load appears on
	// the line, of what arrives where most does, and what waits there that does not add up.
	idleShare, idleAgree, levelWeight, idleAppears, balanceWeight = .75, 2.5, 2.5, 2, 3.5
	// risesWeight is what it counts then that stall does not fall on the way up from the end, each hop to upstream of it.
	risesWeight, upstream = .7, .8
	// mostlyIdle is the same share up to which stall says how much waits.
	mostlyIdle = .5
	// leastMeets is the least that the links of a line must agree for its end to be named.
	leastMeets = .2
)

// Meeting is the switch of a grid at which the traffic of a region comes together, whichever jobs send it.
type Meeting struct {
	Device topology.DeviceID
	Agree  float64 // how well what links of its line carry agrees with that; 0: not at all
	stray  float64 // of the stall of the line's links, the share that no route to it has
	Grew   bool    // load was added on these links
}

// IsKnown reports whether the switch may be named.
func (m *Meeting) IsKnown() bool { return m.Agree >= leastMeets }

// meetingOf is the best of the switches at which traffic may meet over links that are idle for a part of the time, or not. It
// notes how well each does.
func (h *held) meetingOf(ends []topology.DeviceID, idle bool, p *Pressure) (best Meeting) {
	best.Device = ends[0]
	tried := h.tries
	most := 1.
	for _, d := range ends {
		m := h.meets(d, p)
		tried = append(tried, m)
		arrives := h.arrives(&m, p)
		h.arrived, most = append(h.arrived, arrives), max(most, arrives)
	}
	h.tries = tried
	highest := math.Inf(-1)
	for i, m := range tried {
		score := 0.
		switch sides := h.sides(m.Device, p) / 100; {
		case idle:
			score = idleAgree*m.Agree + levelWeight*h.level(m.Device, p)/h.most - idleAppears*h.appears(m.Device, p)/most - balanceWeight*h.unbalanced(m.Device) - risesWeight*h.rises(m.Device)
		case m.Grew:
			score = (h.arrived[i]-appearsWeight*h.appears(m.Device, p))/most - strayWeight*m.stray - sideAdded*sides
		default:
			score = m.Agree + arrivesWeight*h.arrived[i]/most - sideStall*sides
		}
		if h.scores = append(h.scores, score); m.Agree > 0 && score > highest {
			best, highest = m, score
		}
	}
	best.Grew = best.Grew && best.IsKnown()
	return best
}

// arrives is what comes to a switch beyond others' traffic, bytes/s, if a region's traffic ends there: where load was added,
// what its links that stall carry beyond what they did before the onset; else beyond the share of that which their stall lets
// through. Where it ends that is most: a step before the end, only the share goes on that the line gets there.
func (h *held) arrives(m *Meeting, p *Pressure) (sum float64) {
	if m.Grew {
		for _, l := range p.graph.LinksAt(m.Device) {
			if r := h.look(l); h.isHeldUp(l, r) {
				sum += r.added
			}
		}
		return sum
	}
	sum = h.fromSides(m.Device, p)
	for _, l := range p.graph.LinksAt(m.Device) {
		if r := h.look(l); r.dim == h.last {
			sum += r.more
		}
	}
	return sum
}

// isHeldUp reports whether packets wait for a link, or what it brought waits inside a switch.
func (h *held) isHeldUp(l schema.LinkID, r *reading) bool {
	p := h.p
	return r.stall >= p.least || p.Inq != nil && p.Inq.Valid.Has(int(l)) && float64(p.Inq.Values[l]) >= p.least
}

// fromSides is what of that comes to a switch over links of other dimensions than that of the line. Where of a dimension one
// link stalls and the other does not, what this carries is what that brings on its way through.
func (h *held) fromSides(at topology.DeviceID, p *Pressure) (sum float64) {
	for dim := range h.last {
		held, free := 0., 0.
		for _, l := range p.graph.LinksAt(at) {
			switch r := h.look(l); {
			case r.dim != dim:
			case r.stall >= p.least:
				held += r.more
			default:
				free += r.more
			}
		}
		if held > 0 {
			free = -min(held, free)
		}
		sum += held + free
	}
	return sum
}

// appears is the added load, bytes/s, of which it is not seen where it comes from if all of it goes to one switch of the line:
// at every other switch what goes on along the line is what came over the line and from the other links, however the switch
// serves its inputs, save what its own nodes send.
func (h *held) appears(end topology.DeviceID, p *Pressure) (sum float64) {
	line := h.lineFrom(end)
	for _, step := range [2]int{1, -1} {
		came := 0.
		for n := stalledOn(line, step, p.least); n > 0; n-- {
			for _, l := range p.graph.LinksAt(switchOn(line, n, step).device) {
				if r := h.look(l); r.dim != h.last && h.isHeldUp(l, r) {
					came += r.added
				}
			}
			on := linkOn(line, n-1, step).added
			sum += max(0, on-came)
			came = on
		}
	}
	return sum
}

// unbalanced is, of what waits on a line and on the other links of its switches, the share that does not add up if all goes to one
// of them (conservation of flow). Where stall says how much waits, what a link carries in the time that it stalls is on its way to
// the end: at every other switch of the line as much of it goes on as came over the line and from the other links.
func (h *held) unbalanced(end topology.DeviceID) float64 {
	line := h.lineFrom(end)
	all, off := 0., 0.
	for i := range line {
		all += line[i].beside
		all += line[i].waits
	}
	for _, step := range [2]int{1, -1} {
		came := 0.
		for n := len(line) / 2; n > 0; n-- {
			l := linkOn(line, n-1, step)
			if l.link == schema.NoLink {
				continue
			}
			sides := switchOn(line, n, step).beside
			if 2*n == len(line) { // the farthest, from where both ways are as long
				sides /= 2
			}
			on := l.waits
			off += math.Abs(on - came - sides)
			came = on
		}
	}
	return off / max(1, all)
}

// rises is by how much stall falls less than it would on the way up from a switch along its line and to the other links of the line's
// switches, of the most that a link stalls: where links are idle for a part of the time, what waits on one is a share of what waits
// for the next.
func (h *held) rises(end topology.DeviceID) (sum float64) {
	line := h.lineFrom(end)
	for _, step := range [2]int{1, -1} {
		came := 0.
		for n := len(line) / 2; n > 0; n-- {
			l := linkOn(line, n-1, step)
			if l.link == schema.NoLink {
				continue
			}
			sides := switchOn(line, n, step).ahead
			if step > 0 {
				sides = switchOn(line, n, step).back
			}
			if 2*n == len(line) { // the farthest, from where both ways are as long
				sides /= 2
			}
			sum += sides + beyond(came, l.stall)
			came = l.stall
		}
	}
	return sum / h.most
}

// sides is the mean stall, percent, of a switch's links that are not of the last dimension. Where the line ends they share
// what the switch passes on as equals of the line's; a step before they share what the line gets of it: the farther from the
// end, the more they stall.
func (h *held) sides(at topology.DeviceID, p *Pressure) (stall float64) {
	n := 0.
	for _, l := range p.graph.LinksAt(at) {
		if r := h.look(l); r.dim >= 0 && r.dim < h.last {
			stall += r.stall
			n++
		}
	}
	return stall / max(1, n)
}

// idles reports whether the region's links have nothing to send for a part of the time. Where something always waits, a link
// stalls whenever it does not send, so that it stalls least where traffic ends, as most is sent on there. Where not, what a
// switch does not take stalls the links before it most, and those before them by their share of it. It tells whether that is so for
// most of the time that they do not send.
func (h *held) idles() (partly, mostly bool) {
	var waits, stalls float64
	for _, l := range h.links {
		r := h.look(l)
		waits += r.stall * r.waits
		stalls += r.stall
	}
	return waits < idleShare*stalls, waits < mostlyIdle*stalls
}

// level is the mean stall, percent, of those of a switch's links that stall.
func (h *held) level(at topology.DeviceID, p *Pressure) (stall float64) {
	n := 0.
	for _, l := range p.graph.LinksAt(at) {
		if v := h.look(l).stall; v >= p.least {
			stall += v
			n++
		}
	}
	return stall / max(1, n)
}

// meets is how well what links of the last dimension through a switch carry agrees with traffic that ends there, at most 1,
// and whether load was added on them: then that is what is compared. A region may carry less in all while what holds it up
// is load, as full buffers hold up what others send; where it ends the load shows.
//
// Under dimension-order routing all that goes to one switch, whichever jobs send it, comes together on that line. While all have
// packets that wait, a switch serves its inputs in turn, so that of what it passes on about half came over the line and the
// rest from its other links and its nodes: from the end on a link carries half of what the one before it does, both ways.
// Links that stall farther off than any route to the switch is long speak against it.
func (h *held) meets(end topology.DeviceID, p *Pressure) Meeting {
	line := h.lineFrom(end)
	var all, added, stalled float64
	for i := range line {
		if s := &line[i]; s.stall >= p.least {
			stalled += s.stall
			all += s.carries
			added += s.added
		}
	}
	grew := added > grewShare*all
	flow := func(s *stop) float64 {
		if grew {
			return s.added
		}
		return s.carries
	}
	var dot, squares, parts, reached float64
	for i := range line {
		passes := flow(&line[i])
		squares += passes * passes
	}
	for _, step := range [2]int{1, -1} {
		part := 1.
		for n := range stalledOn(line, step, p.least) {
			s := linkOn(line, n, step)
			dot += part * flow(s)
			parts += part * part
			reached += s.stall
			part *= fromLine
		}
	}
	if squares*parts == 0 {
		if stalled > 0 {
			return Meeting{Device: end, stray: 1, Grew: grew} // what the line holds up is before others
		}
		return Meeting{Device: end}
	}
	beyond := beyondHeld
	if grew {
		beyond = beyondAdded
	}
	stray := max(0, 1-reached/stalled)
	return Meeting{Device: end, Agree: dot/math.Sqrt(squares*parts) - beyond*stray, stray: stray, Grew: grew}
}
