package root

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// spreadOnGrid follows the stall of a region of a grid to the links that it waits for. Readings have no direction, so that
// each link is followed both ways: under dimension-order routing, traffic along a dimension goes on along it or turns to a
// later one, over stalled links, until it waits for a link that is full or lost rate. The wrong direction mostly leads
// nowhere: a way is weighted by the share of its traffic that reaches such a link.
func (p *Pressure) spreadOnGrid(links []schema.LinkID) {
	e := p.ends
	e.reset()
	e.queue[0], e.ways = e.queue[0][:0], e.ways[:0]
	for _, l := range links {
		place, s := p.shows(l)
		if s.dim < 0 || s.stall < stalledPercent {
			continue
		}
		stall := s.stall
		leads := [2]float64{p.leads(2*l, place, 0), p.leads(2*l+1, place, 0)}
		for dir, part := range leads {
			if part > 0 {
				at := 2*l + schema.LinkID(dir)
				e.mass[at] = stall * part / (leads[0] + leads[1])
				e.queue[0] = append(e.queue[0], at)
			}
		}
	}
	for _, at := range e.follow(p.passOnGrid) {
		e.mass[at] = 0
	}
}

// leads is the share of the traffic over a link in one direction that reaches a link for which it may wait. at is twice the
// link's number, plus one for the direction from its end to its beginning. place is the link's index in shown.list.
func (p *Pressure) leads(at schema.LinkID, place int32, steps int) float64 {
	e := p.ends
	goes := e.goesFrom(place, at%2)
	if goes.round == e.round {
		return goes.leads
	}
	*goes = going{round: e.round} // a cycle leads nowhere
	if steps == maxRounds {
		return 0
	}
	first := len(e.ways)
	p.listWays(at, &e.shown.list[place])
	end := len(e.ways)
	sum, reached, leads := 0., 0., 0.
	for i := first; i < end; i++ {
		w, part := e.ways[i], 1.
		if w.stays == 0 {
			part = p.leads(w.link, w.place, steps+1)
		}
		sum, reached = sum+w.weight, reached+w.weight*part
	}
	if sum > 0 {
		leads = reached / sum
	}
	*e.goesFrom(place, at%2) = going{e.round, int32(first), int32(end), leads}
	return leads
}

// listWays lists what traffic over a link in one direction may wait for behind it.
func (p *Pressure) listWays(at schema.LinkID, own *shown) {
	e, l := p.ends, at/2
	from, via := p.graph.Ends(l)
	if at%2 == 1 {
		via = from
	}
	dim, least := own.dim, max(stalledPercent, passesOn*own.stall)
	for _, next := range p.graph.LinksAt(via) {
		if next == l {
			continue
		}
		place, s := p.shows(next)
		if s.dim < dim {
			continue
		}
		if s.waits > 0 {
			e.ways = append(e.ways, way{link: next, weight: s.waits, stays: 1})
		}
		if s.stall >= least {
			e.ways = append(e.ways, way{link: p.towards(next, via), place: place, weight: s.held})
		}
	}
}

// passOnGrid divides stall over a link in one direction between the ways that leads has listed.
func (p *Pressure) passOnGrid(at schema.LinkID, stall float64, next []schema.LinkID) []schema.LinkID {
	e := p.ends
	goes, sum := e.goesOn(at), 0.
	ways := e.ways[goes.first:goes.end]
	for _, w := range ways {
		sum += e.weightOf(w)
	}
	if sum == 0 {
		return next
	}
	for _, w := range ways {
		part := stall * e.weightOf(w) / sum
		if w.stays > 0 {
			e.wait(at/2, w.link, part)
			continue
		}
		if part > 0 {
			if e.mass[w.link] == 0 {
				next = append(next, w.link)
			}
			e.mass[w.link] += part
		}
	}
	return next
}

// weightOf is the weight of a way, times the share of its traffic that reaches a link for which it may wait.
func (e *ends) weightOf(w way) float64 {
	if w.stays > 0 {
		return w.weight
	}
	return w.weight * e.goes[w.place][w.link%2].leads
}

// goesOn is where traffic over a link in one direction goes, after leads has found it.
func (e *ends) goesOn(at schema.LinkID) *going { return &e.goes[e.shown.places[at/2].at][at%2] }

// goesFrom is the same for an index in shown.list, and may still be empty.
func (e *ends) goesFrom(link int32, dir schema.LinkID) *going {
	for int(link) >= len(e.goes) {
		e.goes = append(e.goes, [2]going{})
	}
	return &e.goes[link][dir]
}

// towards is a link in the direction in which it leaves a switch, numbered as in leads.
func (p *Pressure) towards(l schema.LinkID, at topology.DeviceID) schema.LinkID {
	if from, _ := p.graph.Ends(l); from != at {
		return 2*l + 1
	}
	return 2 * l
}

// shows returns the readings of a link and their index in shown.list, computed once for regions with the same stalls and
// onset. They are valid until the next call.
func (p *Pressure) shows(l schema.LinkID) (int32, *shown) {
	at, isNew := p.ends.shown.find(l)
	s := &p.ends.shown.list[at]
	if isNew {
		*s = shown{dim: p.grid.Dim(l), stall: p.StallOf(l), use: p.UseOf(l), before: p.Before(l)}
		if s.before >= 0 && s.use >= 0 {
			s.lost = max(0, s.before-s.use) / 100 * p.graph.Capacity(l)
		}
		if s.stall >= stalledPercent {
			s.held = p.heldBackOr(l)
		}
		if _, may := p.neckOf(l, s); may && s.dim >= 0 {
			s.isNeck, s.waits = true, p.waitsBefore(l)
		}
	}
	return at, s
}

// waitsBefore is the traffic that waits inside switches for a link, bytes/s, if the share of time that packets wait is the
// share of the offered load that is held back.
func (p *Pressure) waitsBefore(l schema.LinkID) float64 {
	waits := min(MaxStall, max(leastWaits, p.waitsFor(l)))
	return max(LeastUse, p.UseOf(l)) / 100 * p.graph.Capacity(l) * waits / (1 - waits)
}
