package root

import (
	"math"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// ends holds where the stall of a region ends when it is followed downstream, and scratch memory. The inputs of a switch may
// wait for several of its ports: the stall of each input is divided between the ports that its traffic can take, by what is
// known of how much waits for each.
type ends struct {
	ports []float64             // by link: stall of the region that waits for it: a full port, one to a host, or a link that lost rate
	at    []float64             // by last stalled link: stall of the region that ends behind it, whichever port it waits for
	known []schema.LinkID       // links in ports
	last  []schema.LinkID       // links in at
	lost  []float64             // by last stalled link: the part of at whose port is not known
	mass  []float64             // by link: stall still to be followed
	queue [2][]schema.LinkID    // links in mass
	ways  []way                 // of all links followed
	next  [][]topology.DeviceID // by switch: the switches to which a link that is up leads, ascending
	split bool                  // of the current region: stall is the rest of the time in which a port sends, not counted beside it
	// Not on a grid:
	from  lookup[schema.LinkID, waysOf]
	extra lookup[topology.DeviceID, excess]
	exits []exit
	// On a grid:
	round uint32
	seen  []uint32 // by device: round in which listFull visited it
	shown lookup[schema.LinkID, shown]
	goes  [][2]going // by index in shown.list, and direction
	back  backward
	full  []fullLink // of the current region
}

// shown is what a link of a grid shows to traffic over other links.
type shown struct {
	dim    int
	stall  float64 // percent
	use    float64 // percent of capacity; -1: not known
	before float64 // use before the onset, the same
	lost   float64 // load lost since the onset, bytes/s; 0 if not known
	held   float64 // traffic that waits on it, bytes/s, if it stalls
	waits  float64 // traffic that waits for it, bytes/s; 0 unless packets may
	isNeck bool    // packets may wait for it
}

// going is where the traffic over a link of a grid goes in one direction.
type going struct {
	round      uint32  // region for which it was computed
	first, end int32   // its ways: ends.ways[first:end]
	leads      float64 // share that reaches a link for which it may wait
}

// waysOf are the ways of a link: ends.ways[first:end].
type waysOf struct{ first, end int }

// way is a port of a switch that traffic may wait for.
type way struct {
	link   schema.LinkID
	place  int32 // on a grid: index in shown.list
	weight float64
	stays  float64 // share of what waits for it because it sends all the time, not because of what is behind it
}

const (
	// FullPort is the use, percent of capacity, from which on a port without stall is full: headers and gaps take the rest.
	// busyPort is the share of time, percent, sending or stalled, from which on a port always has something to send.
	FullPort, busyPort = 90, 95
	// lessFull is the distance in use, percent, from the fullest port of a switch at which a full port counts about a third:
	// traffic does not wait for a port with spare capacity.
	lessFull = 3
	// leastExcess is the least share of what inputs hold back that is taken to wait for the ports with an unknown amount:
	// readings of different links do not match exactly.
	leastExcess = .2
	// maxRounds limits the number of links followed in sequence.
	maxRounds = 32
)

func newEnds(g *topology.Graph) ends {
	n := g.NumLinks()
	e := ends{ports: make([]float64, n), at: make([]float64, n), lost: make([]float64, n), next: nextSwitches(g)}
	if g.Duplex() {
		e.mass, e.seen, e.shown, e.back = make([]float64, 2*n), make([]uint32, g.NumDevices()), newLookup[schema.LinkID, shown](n), newBackward(n)
	} else {
		e.mass, e.from, e.extra = make([]float64, n), newLookup[schema.LinkID, waysOf](n), newLookup[topology.DeviceID, excess](g.NumDevices())
	}
	return e
}

// reset clears the previous region.
func (e *ends) reset() {
	for _, l := range e.known {
		e.ports[l] = 0
	}
	for _, l := range e.last {
		e.at[l], e.lost[l] = 0, 0
	}
	e.known, e.last = e.known[:0], e.last[:0]
	e.round++
}

// wait records stall that comes over link from and waits for a port.
func (e *ends) wait(from, port schema.LinkID, stall float64) {
	if e.ports[port] == 0 {
		e.known = append(e.known, port)
	}
	e.ports[port] += stall
	e.stop(from, stall)
}

// stop records stall that ends behind a link.
func (e *ends) stop(last schema.LinkID, stall float64) {
	if e.at[last] == 0 {
		e.last = append(e.last, last)
	}
	e.at[last] += stall
}

// spread follows the stall of a region's links to where it ends.
func (p *Pressure) spread(links []schema.LinkID, weight []float64) {
	e := p.ends
	e.reset()
	e.turnTo(p, p.splitsTime(links))
	e.queue[0] = e.queue[0][:0]
	for i, l := range links {
		if p.StallOf(l) >= stalledPercent {
			e.mass[l] = weight[i]
			e.queue[0] = append(e.queue[0], l)
		}
	}
	for _, l := range e.follow(p.pass) { // in a cycle
		e.stop(l, e.mass[l])
		e.lost[l] += e.mass[l]
		e.mass[l] = 0
	}
}

// mostWays bounds the ways kept for the next regions: 24 MB.
const mostWays = 1 << 20

// turnTo forgets the ways and excesses found so far unless they hold for the region of p, too.
func (e *ends) turnTo(p *Pressure, split bool) {
	if split != e.split || p.Stall != e.from.stalls || p.Since != e.from.since {
		e.forgetWays()
	}
	e.split, e.from.stalls, e.from.since = split, p.Stall, p.Since
}

func (e *ends) forgetWays() {
	e.ways, e.exits = e.ways[:0], e.exits[:0]
	e.from.forget()
	e.extra.forget()
}

// follow passes on the queued stall, round by round, and returns the links with stall left after the last one: a cycle. pass
// takes the stall of one link and appends the links to follow to next.
func (e *ends) follow(pass func(at schema.LinkID, stall float64, next []schema.LinkID) []schema.LinkID) (circle []schema.LinkID) {
	for round := range maxRounds {
		now, next := e.queue[round%2], e.queue[1-round%2][:0]
		for _, at := range now {
			stall := e.mass[at]
			e.mass[at] = 0
			next = pass(at, stall, next)
		}
		if e.queue[1-round%2] = next; len(next) == 0 {
			return nil
		}
	}
	return e.queue[maxRounds%2]
}

// pass divides the stall of a link between the ports that its traffic may wait for, and appends to next those behind which it
// goes on.
func (p *Pressure) pass(l schema.LinkID, stall float64, next []schema.LinkID) []schema.LinkID {
	e := p.ends
	_, via := p.graph.Ends(l)
	if !p.graph.IsSwitch(via) {
		e.wait(l, l, stall)
		return next
	}
	ways := p.waysFrom(l, via)
	if len(ways) == 0 {
		if p.slowItself(l) {
			e.wait(l, l, stall)
		} else {
			e.stop(l, stall)
			e.lost[l] += stall
		}
		return next
	}
	sum := 0.
	for _, w := range ways {
		sum += w.weight
	}
	for _, w := range ways {
		part := stall * w.weight / sum
		if w.stays > 0 {
			e.wait(l, w.link, part*w.stays)
		}
		if w.stays == 1 {
			continue
		}
		if e.mass[w.link] == 0 {
			next = append(next, w.link)
		}
		e.mass[w.link] += part * (1 - w.stays)
	}
	return next
}

// waysFrom lists the ports of a switch that traffic of a link into it may wait for, with the amount that waits for each as
// far as known. They are found once for all regions with the same stalls and past, and are valid until the next call.
func (p *Pressure) waysFrom(l schema.LinkID, via topology.DeviceID) []way {
	e := p.ends
	if len(e.ways) > mostWays {
		e.forgetWays()
	}
	at, isNew := e.from.find(l)
	if isNew {
		ways := p.findWays(l, via)
		e.from.list[at] = waysOf{len(e.ways) - len(ways), len(e.ways)}
	}
	found := e.from.list[at]
	return e.ways[found.first:found.end]
}

// findWays finds them. Routes between groups are taken to have a hop within each, unless nothing else explains the stall; nor does a
// port that stalls far less than the link, as one that also has other traffic does. A cable that lost rate sends all that it can.
func (p *Pressure) findWays(l schema.LinkID, via topology.DeviceID) []way {
	over := p.hopOver(l)
	if ways := p.waysBy(&over, passesOn); len(ways) > 0 {
		return ways
	}
	if slow := p.slowCable(via); slow != schema.NoLink && p.mayGoOn(l, slow) {
		p.ends.ways = append(p.ends.ways, way{link: slow, weight: 1, stays: 1})
		return p.ends.ways[len(p.ends.ways)-1:]
	}
	if over.global {
		over.global = false
		return p.waysBy(&over, passesOn)
	}
	return p.waysBy(&over, 0)
}

// waiting reports whether a port stalls, whether it is full without stall, and whether it always sends or stalls.
func (p *Pressure) waiting(l schema.LinkID) (stalls, full, always bool) {
	stall, use := p.StallOf(l), p.UseOf(l)
	stalls = stall >= stalledPercent
	return stalls, !stalls && use >= FullPort, use >= 0 && use+stall >= busyPort
}

// splitsTime reports whether the links of a region show stall as the rest of the time in which they send: twice as many links that
// stall add up to all of the time as to more. Some counters also count the time in which data waits because the link is busy.
func (p *Pressure) splitsTime(links []schema.LinkID) bool {
	all, more := 0, 0
	for _, l := range links {
		switch sum := p.UseOf(l) + p.StallOf(l); {
		case p.UseOf(l) < 0:
		case sum > 200-busyPort:
			more++
		case sum >= busyPort:
			all++
		}
	}
	return all >= 2*more
}

// fullness is the share of what waits for a port because it sends all the time, not because of what is behind it. For a full
// port with some stall, that depends on whether a port behind it is fuller: finite buffers stall a full port a little, and a
// port that waits for a full one carries less than that. If it stalls for the rest of the time, the share is at least that of the
// time in which it sends: without what is behind it, no more would pass.
func (p *Pressure) fullness(l schema.LinkID, full bool) float64 {
	use := p.UseOf(l)
	if full {
		return 1
	}
	if use < FullPort {
		return 0
	}
	least := 0.
	if sum := use + p.StallOf(l); p.ends.split && sum <= 200-busyPort {
		least = use / sum
	}
	_, via := p.graph.Ends(l)
	most := 0.
	for _, out := range p.graph.LinksAt(via) {
		if stalls, full, _ := p.waiting(out); (stalls || full) && p.mayWait(l, out) {
			if stalls && p.StallOf(out) >= passesOn*p.StallOf(l) {
				return least
			}
			most = max(most, p.UseOf(out))
		}
	}
	return max(least, min(1, .5+(use-most)/(2*lessFull)))
}

// heldBackOr is the traffic that waits on a link, bytes/s; a load that is not measured is taken as half of the capacity.
func (p *Pressure) heldBackOr(l schema.LinkID) float64 {
	if p.UseOf(l) >= 0 {
		return p.heldBack(l)
	}
	stall := p.stallShare(l)
	return .5 * math.Max(1, p.graph.Capacity(l)) * stall / (1 - stall)
}

// lastAsFull follows a full port without stall along ports that take all its traffic, to a host's port if it reaches one.
// Traffic to one receiver may merge at switches before it: inputs wait where it merges first, but another route would not
// help, as the receiver's port is as full.
func (p *Pressure) lastAsFull(first schema.LinkID) schema.LinkID {
	l := first
	for range maxRounds {
		_, full, _ := p.waiting(l)
		_, via := p.graph.Ends(l)
		if !full {
			return first
		}
		if !p.graph.IsSwitch(via) {
			return l
		}
		next := schema.NoLink
		carries := p.UseOf(l) * p.graph.Capacity(l)
		for _, out := range p.graph.LinksAt(via) {
			if _, full, _ := p.waiting(out); full && p.mayWait(l, out) && math.Abs(p.UseOf(out)*p.graph.Capacity(out)-carries) <= lessFull*p.graph.Capacity(l) {
				if next != schema.NoLink {
					return first // two are full, and either may take its load
				}
				next = out
			}
		}
		if next == schema.NoLink {
			return first
		}
		l = next
	}
	return first
}

// EndsAt sums up the followed stall that ends at the switches that some links leave.
func (p *Pressure) EndsAt(links []schema.LinkID) (stall float64) {
	for _, last := range p.ends.last {
		_, to := p.graph.Ends(last)
		for _, l := range links {
			if at, _ := p.graph.Ends(l); at == to {
				stall += p.ends.at[last]
			}
		}
	}
	return stall
}
