package root

import (
	"math"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

const (
	// lineStall is the stall, percent, from which on packets are taken to wait for a link of a line all the time; where
	// that is less, it is mostStalled of the region's highest stall.
	lineStall, mostStalled = 20, .5
	// fromLine is the share of a switch's throughput along a line that it received over the line.
	fromLine = .5
	// Penalties on stall of a line that traffic to the switch cannot explain, with and without added load. The second
	// is lower, as traffic that is held back also fills the buffers of other traffic, which then stalls on its own way.
	beyondAdded, beyondHeld = 2, .5
	// sideStall is the penalty on the mean stall of a switch's links outside the line, sideAdded the same where load
	// was added.
	sideStall, sideAdded = .7, .3
	// arrivesWeight is the weight of what arrives at a switch, relative to where most arrives.
	arrivesWeight = .5
	// Where load was added: the penalty on added load that appears on the line from no other link, relative to where
	// most arrives, and the penalty on the share of the line's stall at links without a route to the switch. They are
	// the weights of a conditional logit fitted on the ends of 66 incidents.
	appearsWeight, strayWeight = 1.1, .8
	// idleShare is the highest mean share of their time without sending in which the links of a region stall for these
	// to count as idle for the rest. The weights for that case are close to a conditional logit fitted on the ends of
	// 136 incidents: of how well the links of the line agree, of the mean stall of a switch's links relative to the
	// region's highest, of added load that appears on the line relative to where most arrives, and of waiting traffic
	// that does not add up.
	idleShare, idleAgree, levelWeight, idleAppears, balanceWeight = .75, 2.5, 2.5, 2, 3.5
	// risesWeight is the penalty in that case on stall that does not fall upstream of the end, by a factor of upstream
	// per hop.
	risesWeight, upstream = .7, .8
	// neverIdle is the same share from which on something always waits for nearly all of them.
	neverIdle = .85
	// leastMeets is the least agreement of the links of a line for its end to be named.
	leastMeets = .2
)

// Meeting is the switch of a grid where the traffic of a region merges, whichever jobs send it.
type Meeting struct {
	Device topology.DeviceID
	Agree  float64 // how well the loads of its line's links agree with that; 0: not at all
	stray  float64 // share of the line's stall at links without a route to it
	Grew   bool    // load was added on these links
}

// IsKnown reports whether the agreement is good enough to name the switch.
func (m *Meeting) IsKnown() bool { return m.Agree >= leastMeets }

// meetingOf is the best of the switches where traffic may merge; idle says that links are idle part of the time. It
// records the score of each.
func (g *GridRegion) meetingOf(ends []topology.DeviceID, idle bool) (best Meeting) {
	best.Device = ends[0]
	most := 1.
	for _, d := range ends {
		m := g.meets(d)
		arrives := g.arrives(&m)
		g.tries, g.arrived, most = append(g.tries, m), append(g.arrived, arrives), max(most, arrives)
	}
	highest := math.Inf(-1)
	for i, m := range g.tries {
		score := 0.
		switch sides := g.sides(m.Device) / 100; {
		case idle:
			score = idleAgree*m.Agree + levelWeight*g.level(m.Device)/g.most - idleAppears*g.appears(m.Device)/most -
				balanceWeight*g.unbalanced(m.Device) - risesWeight*g.rises(m.Device)
		case m.Grew:
			score = (g.arrived[i]-appearsWeight*g.appears(m.Device))/most - strayWeight*m.stray - sideAdded*sides
		default:
			score = m.Agree + arrivesWeight*g.arrived[i]/most - sideStall*sides
		}
		if g.scores = append(g.scores, score); m.Agree > 0 && score > highest {
			best, highest = m, score
		}
	}
	best.Grew = best.Grew && best.IsKnown()
	return best
}

// arrives is the load that comes to a switch beyond other traffic, bytes/s, if the region's traffic ends there: where
// load was added, the added load of its stalled links; otherwise what they carry beyond the share of their earlier load
// that their stall lets through. It is highest at the end: one step before it, only the line's share goes on.
func (g *regionReadings) arrives(m *Meeting) (sum float64) {
	if m.Grew {
		for _, l := range g.p.graph.LinksAt(m.Device) {
			if r := g.look(l); g.isHeldUp(l, r) {
				sum += r.added
			}
		}
		return sum
	}
	sum = g.fromSides(m.Device)
	for _, l := range g.p.graph.LinksAt(m.Device) {
		if r := g.look(l); r.dim == g.last {
			sum += r.more
		}
	}
	return sum
}

// isHeldUp reports whether packets wait for a link, or its traffic waits inside the switch behind it.
func (g *regionReadings) isHeldUp(l schema.LinkID, r *reading) bool {
	p := g.p
	return r.stall >= g.least || p.Inq != nil && p.Inq.Valid.Has(int(l)) && float64(p.Inq.Values[l]) >= g.least
}

// fromSides is the part of that from links of other dimensions than the line's. If one link of a dimension stalls and
// the other does not, the load of the second is taken as through traffic of the first.
func (g *regionReadings) fromSides(at topology.DeviceID) (sum float64) {
	for dim := range g.last {
		held, free := 0., 0.
		for _, l := range g.p.graph.LinksAt(at) {
			switch r := g.look(l); {
			case r.dim != dim:
			case r.stall >= g.least:
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

// appears is the added load, bytes/s, without a visible source if all of it goes to one switch of the line: at every
// other switch, load that goes on along the line came over the line and from the other links, however the switch serves
// its inputs, except for what its own nodes send.
func (g *regionReadings) appears(end topology.DeviceID) (sum float64) {
	line := g.lineFrom(end)
	for _, step := range [2]int{1, -1} {
		came := 0.
		for n := stalledOn(line, step, g.least); n > 0; n-- {
			for _, l := range g.p.graph.LinksAt(switchOn(line, n, step).device) {
				if r := g.look(l); r.dim != g.last && g.isHeldUp(l, r) {
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

// unbalanced is the share of the traffic waiting on a line, and on the other links of its switches, that violates the
// conservation of flow if all of it goes to end. Where stall measures how much waits, what a link carries while it
// stalls is on its way to the end: at every other switch, as much goes on along the line as came over the line and from
// the other links.
func (g *regionReadings) unbalanced(end topology.DeviceID) float64 {
	line := g.lineFrom(end)
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
			sides := switchOn(line, n, step).beside * shareAt(line, n)
			off += math.Abs(l.waits - came - sides)
			came = l.waits
		}
	}
	return off / max(1, all)
}

// rises is by how much stall falls less than expected upstream of a switch, along its line and to the other links of
// the line's switches, relative to the region's highest stall: where links are idle part of the time, what waits on one
// is a share of what waits for the next.
func (g *regionReadings) rises(end topology.DeviceID) (sum float64) {
	line := g.lineFrom(end)
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
			sum += sides*shareAt(line, n) + beyond(came, l.stall)
			came = l.stall
		}
	}
	return sum / g.most
}

// sides is the mean stall, percent, of a switch's links outside the last dimension. Where the line ends, they share the
// switch's throughput as equals of the line's links; one step before, they share only what the line gets of it: the
// farther from the end, the more they stall.
func (g *regionReadings) sides(at topology.DeviceID) (stall float64) {
	n := 0.
	for _, l := range g.p.graph.LinksAt(at) {
		if r := g.look(l); r.dim >= 0 && r.dim < g.last {
			stall += r.stall
			n++
		}
	}
	return stall / max(1, n)
}

// idles reports whether the region's links have nothing to send part of the time. If something always waits, a link
// stalls whenever it does not send, and stalls least where traffic ends, as most is sent on there. If not, what a switch
// does not accept stalls the links before it most, and those before them by their share of it.
func (g *regionReadings) idles() bool { return g.waitingShare() < idleShare }

// waitingShare is the mean share of their time without sending in which the region's links stall, weighted by stall.
func (g *regionReadings) waitingShare() float64 {
	var waits, stalls float64
	for _, l := range g.links {
		r := g.look(l)
		waits += r.stall * r.waits
		stalls += r.stall
	}
	return waits / stalls
}

// level is the mean stall, percent, of a switch's stalled links.
func (g *regionReadings) level(at topology.DeviceID) (stall float64) {
	n := 0.
	for _, l := range g.p.graph.LinksAt(at) {
		if v := g.look(l).stall; v >= g.least {
			stall += v
			n++
		}
	}
	return stall / max(1, n)
}

// meets is how well the loads of the last dimension's links through a switch agree with traffic that ends there, at
// most 1, and whether load was added on them: then the added load is compared. Full buffers hold up other traffic, so
// that a region may carry less in total although load causes it; where it ends the load shows.
//
// Under dimension-order routing all traffic to one switch, from any job, merges on that line. While packets always
// wait, a switch serves its inputs in turn, so that about half of its throughput came over the line and the rest from
// its other links and its nodes: away from the end, each link carries half of the one before it, both ways. Stall
// farther away than the longest route to the switch counts against it.
func (g *regionReadings) meets(end topology.DeviceID) Meeting {
	line := g.lineFrom(end)
	var all, added, stalled float64
	for i := range line {
		if s := &line[i]; s.stall >= g.least {
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
		for n := range stalledOn(line, step, g.least) {
			s := linkOn(line, n, step)
			dot += part * flow(s)
			parts += part * part
			reached += s.stall
			part *= fromLine
		}
	}
	if squares*parts == 0 {
		if stalled > 0 {
			return Meeting{Device: end, stray: 1, Grew: grew} // the line's stall is not due to traffic to this switch
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
