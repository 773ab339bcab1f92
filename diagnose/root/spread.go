package root

import (
	"math"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// ends is where the stall of a region ends when it is followed against back pressure, and scratch for that. Several
// ports of a switch may be what its inputs wait for: the stall of each input is divided between those that its traffic
// can take, by what is known of how much waits for each.
type ends struct {
	ports []float64          // by link: the region's stall that waits for it, a full port or one to a host
	at    []float64          // by last stalled link: the region's stall that ends behind it, whatever port it waits for
	known []schema.LinkID    // with any in ports
	last  []schema.LinkID    // with any in at
	lost  []float64          // by last stalled link: of what ends behind it, for which no port is known
	mass  []float64          // by link: what is to be followed further
	queue [2][]schema.LinkID // with any in mass
	ways  []way              // of the switch that is looked at; on a grid of all that are
	round uint32
	seen  []uint32      // by device: the round of what is known of it
	extra []excess      // by device
	shown lookup[shown] // of a grid
	goes  [][2]going    // by place in that list, and direction
	back  backward      // of a grid
	full  []fullLink    // of a grid, at the region that is looked at
}

// shown is what a link of a grid shows to what travels over others.
type shown struct {
	dim    int
	stall  float64 // percent
	use    float64 // percent of its capacity; -1: not known
	before float64 // the onset, the same
	lost   float64 // it carries less than before the onset, bytes/s; 0 if that is not known
	held   float64 // waits on it, bytes/s, if it stalls
	waits  float64 // before it, bytes/s; 0: packets do not wait for it
	isNeck bool    // packets may wait for it
}

// going is where what travels over a link of a grid one way goes.
type going struct {
	round      uint32  // of the region for which it is known
	first, end int32   // its ways, from the first to before the end
	leads      float64 // the share that comes to a link which it may wait for
}

// way is a port over which traffic may wait to leave a switch.
type way struct {
	link   schema.LinkID
	place  int32 // of a grid, in the list of what links show
	weight float64
	stays  float64 // of what waits for it, the share that does because it sends all the time, and not for what is behind it
}

// excess is what the inputs of a switch hold back, bytes/s, beyond what its ports that stall do.
type excess struct {
	inputs float64 // held back by inputs
	behind float64 // held back by ports that stall, for what is behind them
	known  float64 // of which, by ports that have time left in which nothing is to be sent
	most   float64 // percent of its capacity that the fullest of its ports carries
	open   int     // ports for which it is not known how much waits: full ones, and those that stall or send all the time
}

const (
	// FullPort is from which share of its capacity on a port that does not stall is full, percent: headers and gaps
	// take the rest. busyPort is from which share of time on, sending or stalled, a port always has something to send.
	FullPort, busyPort = 90, 95
	// lessFull is by how much less a full port carries than the fullest of its switch, percent, from when on it counts
	// for a third as much: what has room left is not what others wait for.
	lessFull = 3
	// leastExcess is what at least waits for the ports of which it is not known how much does, share of what inputs
	// hold back: numbers of different links are not exact.
	leastExcess = .2
	// maxRounds bounds the links that are followed one after the other.
	maxRounds = 32
)

func newEnds(g *topology.Graph) ends {
	n := g.NumLinks()
	if g.Duplex() {
		return ends{ports: make([]float64, n), at: make([]float64, n), lost: make([]float64, n), mass: make([]float64, 2*n), seen: make([]uint32, g.NumDevices()), shown: newLookup[shown](n), back: newBackward(n)}
	}
	return ends{ports: make([]float64, n), at: make([]float64, n), lost: make([]float64, n), mass: make([]float64, n),
		seen: make([]uint32, g.NumDevices()), extra: make([]excess, g.NumDevices())}
}

// reset forgets the region before.
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

// wait notes stall that comes over link from and waits for a port.
func (e *ends) wait(from, port schema.LinkID, stall float64) {
	if e.ports[port] == 0 {
		e.known = append(e.known, port)
	}
	e.ports[port] += stall
	e.stop(from, stall)
}

// stop notes stall that ends behind a link.
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
	e.queue[0] = e.queue[0][:0]
	for i, l := range links {
		if p.StallOf(l) >= stalledPercent {
			e.mass[l] = weight[i]
			e.queue[0] = append(e.queue[0], l)
		}
	}
	for _, l := range e.follow(p.pass) { // round a circle
		e.stop(l, e.mass[l])
		e.lost[l] += e.mass[l]
		e.mass[l] = 0
	}
}

// follow passes on the stall of what is queued, round by round, and returns what has stall left after the last one: a circle.
// pass takes the stall of one and adds to next what is to follow.
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

// pass divides the stall of a link between the ports that its traffic may wait for, and adds those behind which it is
// to be followed further to next.
func (p *Pressure) pass(l schema.LinkID, stall float64, next []schema.LinkID) []schema.LinkID {
	e := p.ends
	_, via := p.graph.Ends(l)
	if !p.graph.IsSwitch(via) {
		e.wait(l, l, stall)
		return next
	}
	ways := p.waysFrom(l, via)
	if len(ways) == 0 {
		e.stop(l, stall)
		e.lost[l] += stall
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

// waysFrom lists the ports of a switch that traffic of a link into it may wait for, with how much waits for each as far
// as is known. Routes from group to group are taken to have a hop within each, unless nothing else explains the stall.
func (p *Pressure) waysFrom(l schema.LinkID, via topology.DeviceID) []way {
	if ways := p.waysBy(p.mayWait, l, via); len(ways) > 0 || p.graph.Link(l).Class != topology.ClassGlobal {
		return ways
	}
	return p.waysBy(p.mayGoOn, l, via)
}

func (p *Pressure) waysBy(may func(a, b schema.LinkID) bool, l schema.LinkID, via topology.DeviceID) []way {
	e := p.ends
	if e.seen[via] != e.round {
		e.seen[via], e.extra[via] = e.round, p.excessOf(via)
	}
	x := &e.extra[via]
	share := 0.
	if x.open > 0 {
		share = max(x.inputs-x.known, leastExcess*x.inputs) / float64(x.open)
	}
	e.ways = e.ways[:0]
	least := passesOn * p.StallOf(l)
	for _, out := range p.graph.LinksAt(via) {
		stalls, full, always := p.waiting(out)
		if !full && (!stalls || !always && p.StallOf(out) < least) || !may(l, out) {
			continue
		}
		w := way{link: out, weight: p.heldBackOr(out), stays: p.fullness(out, full)}
		if !full && x.passesAllOn() {
			w.stays = 0
		}
		switch {
		case w.stays > 0:
			w.weight = max(w.weight, share*math.Exp((p.UseOf(out)-x.most)/lessFull))
		case always:
			w.weight = max(w.weight, share)
		}
		if w.weight > 0 {
			e.ways = append(e.ways, w)
		}
	}
	return e.ways
}

// excessOf sums up what the inputs and the ports of a switch hold back.
func (p *Pressure) excessOf(d topology.DeviceID) (x excess) {
	for _, l := range p.graph.LinksAt(d) {
		if from, _ := p.graph.Ends(l); from != d {
			if p.StallOf(l) >= stalledPercent {
				x.inputs += p.heldBackOr(l)
			}
			continue
		}
		stalls, full, always := p.waiting(l)
		if full || p.UseOf(l) >= FullPort {
			x.most = max(x.most, p.UseOf(l))
		}
		if stalls {
			x.behind += p.heldBackOr(l)
		}
		switch {
		case full, stalls && always:
			x.open++
		case stalls:
			x.known += p.heldBackOr(l)
		}
	}
	return x
}

// passesAllOn reports whether the ports of a switch that stall hold back all that its inputs do: nothing waits for what these
// ports send themselves.
func (x *excess) passesAllOn() bool { return x.inputs-x.behind < leastExcess*x.inputs }

// waiting reports whether a port stalls, whether it is full and does not, and whether it sends or stalls all the time.
func (p *Pressure) waiting(l schema.LinkID) (stalls, full, always bool) {
	stall, use := p.StallOf(l), p.UseOf(l)
	stalls = stall >= stalledPercent
	return stalls, !stalls && use >= FullPort, use >= 0 && use+stall >= busyPort
}

// fullness is the share of what waits for a port that does because it sends all the time, and not for what is behind it.
// Of a port that stalls too, but carries nearly all it can, that depends on whether a port behind it is fuller: buffers
// that fill up now and then stall a full port a little, and a port that waits for a full one carries less than that.
func (p *Pressure) fullness(l schema.LinkID, full bool) float64 {
	use := p.UseOf(l)
	if full {
		return 1
	}
	if use < FullPort {
		return 0
	}
	_, via := p.graph.Ends(l)
	most := 0.
	for _, out := range p.graph.LinksAt(via) {
		if stalls, full, _ := p.waiting(out); (stalls || full) && p.mayWait(l, out) {
			if stalls && p.StallOf(out) >= passesOn*p.StallOf(l) {
				return 0
			}
			most = max(most, p.UseOf(out))
		}
	}
	return max(0, min(1, .5+(use-most)/(2*lessFull)))
}

// heldBackOr is what waits on a link, bytes/s; where it is not measured what the link carries, as if that were half of
// its capacity.
func (p *Pressure) heldBackOr(l schema.LinkID) float64 {
	if p.UseOf(l) >= 0 {
		return p.heldBack(l)
	}
	stall := p.stallShare(l)
	return .5 * math.Max(1, p.graph.Capacity(l)) * stall / (1 - stall)
}

// lastAsFull follows a full port that does not stall along ports over which all that it carries leaves, to the one to a
// host, if it comes to one: traffic to one receiver may meet switches before it. Inputs wait where it meets first, but
// another route would not help, as the receiver's port is as full.
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
					return first // two are full, and it is not known which takes what it carries
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

// EndsAt is how much of the stall that was followed ends at the switches which some links leave.
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
