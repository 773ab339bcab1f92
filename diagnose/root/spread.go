package root

import (
	"math"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// flow is where the stall of a region ends when it is followed downstream, and memory for that. The inputs of a switch
// may wait for several of its ports: the stall of each input is divided between the ports that its traffic can take, by
// what is known of how much waits for each.
type flow struct {
	toPort   []float64          // by link: stall that waits for it: a port that is full, lost rate, or leads to a host
	at       []float64          // by last stalled link: stall that ends behind it, whichever port it waits for
	known    []schema.LinkID    // links in toPort
	last     []schema.LinkID    // links in at
	portless []float64          // by last stalled link: the part of at whose port is not known
	mass     []float64          // by link: stall still to be followed
	queue    [2][]schema.LinkID // links in mass
}

// downstream is the flow of a region of directed links, and what was found of links and switches for it and the regions
// before it.
type downstream struct {
	flow
	*found                                 // for regions like this one
	split, whole found                     // for those that split time, and the others
	hostOf       []topology.DeviceID       // by device: the host that it is an adapter of
	heldPorts    map[topology.DeviceID]int // by host: its ports that stall of a region waits for
	ended        []stallEnd                // of all regions of the interval
}

// found is what was found of links and switches. It holds for the regions that split time, or for those that do not,
// with the same stalls and past.
type found struct {
	stalls     *schema.Series
	past       uint32 // the version of the past
	splitsTime bool   // stall is the rest of the time in which a port sends, not counted beside it
	from       lookup[schema.LinkID, waysOf]
	ways       []way // of all links followed
	extra      lookup[topology.DeviceID, excess]
	exits      []exit
}

// keepEnds keeps where the stall of a region ended for the rest of the interval.
func (e *downstream) keepEnds(g *topology.Graph) []stallEnd {
	first := len(e.ended)
	for _, l := range e.last {
		_, to := g.Ends(l)
		e.ended = append(e.ended, stallEnd{to, e.at[l]})
	}
	return e.ended[first:len(e.ended):len(e.ended)]
}

// walk follows the stall of a region of directed links downstream.
type walk struct {
	ports
	*downstream
}

// waysOf are the ways of a link: found.ways[first:end].
type waysOf struct{ first, end int }

// way is a port of a switch that traffic may wait for.
type way struct {
	link   schema.LinkID
	place  int32 // on a grid: index in shown.list
	weight float64
	stays  float64 // share of what waits for it because it sends all the time, not because of what is behind it
}

const (
	// FullPort is the use, percent of capacity, from which on a port without stall is full: headers and gaps take the
	// rest. busyPort is the share of time, percent, sending or stalled, from which on a port always has something to
	// send.
	FullPort, busyPort = 90, 95
	// lessFull is the distance in use, percent, from the fullest port of a switch at which a full port counts about a
	// third: traffic does not wait for a port with spare capacity.
	lessFull = 3
	// leastExcess is the least share of what inputs hold back that is taken to wait for the ports with an unknown
	// amount: readings of different links do not match exactly.
	leastExcess = .2
	// maxRounds limits the number of links followed in sequence.
	maxRounds = 32
)

// newFlow returns the memory for following stall over so many links, of which each is followed as often as directions
// are.
func newFlow(links, directions int) flow {
	return flow{toPort: make([]float64, links), at: make([]float64, links), portless: make([]float64, links),
		mass: make([]float64, directions*links)}
}

// newDownstream returns the memory for the regions of a graph of directed links.
func newDownstream(g *topology.Graph) downstream {
	return downstream{flow: newFlow(g.NumLinks(), 1), split: newFound(g, true), whole: newFound(g, false),
		hostOf: topology.HostsOf(g), heldPorts: map[topology.DeviceID]int{}}
}

// newFound returns what was found for one kind of regions: nothing yet.
func newFound(g *topology.Graph, splitsTime bool) found {
	return found{splitsTime: splitsTime, from: newLookup[schema.LinkID, waysOf](g.NumLinks()),
		extra: newLookup[topology.DeviceID, excess](g.NumDevices())}
}

// reset clears the previous region.
func (e *flow) reset() {
	for _, l := range e.known {
		e.toPort[l] = 0
	}
	for _, l := range e.last {
		e.at[l], e.portless[l] = 0, 0
	}
	e.known, e.last = e.known[:0], e.last[:0]
}

// wait records stall that comes over link from and waits for a port.
func (e *flow) wait(from, port schema.LinkID, stall float64) {
	if e.toPort[port] == 0 {
		e.known = append(e.known, port)
	}
	e.toPort[port] += stall
	e.stop(from, stall)
}

// stop records stall that ends behind a link.
func (e *flow) stop(last schema.LinkID, stall float64) {
	if e.at[last] == 0 {
		e.last = append(e.last, last)
	}
	e.at[last] += stall
}

// spread follows the stall of a region's links to where it ends.
func (w *walk) spread(links []schema.LinkID, weight []float64) {
	w.reset()
	w.turnTo(w.Pressure, w.splitsTime(links))
	w.queue[0] = w.queue[0][:0]
	for i, l := range links {
		if w.StallOf(l) >= stalledPercent {
			w.mass[l] = weight[i]
			w.queue[0] = append(w.queue[0], l)
		}
	}
	for _, l := range w.follow(w.pass) { // in a cycle
		w.stop(l, w.mass[l])
		w.portless[l] += w.mass[l]
		w.mass[l] = 0
	}
}

// mostWays bounds the ways kept for the next regions: 24 MB, of each kind of region.
const mostWays = 1 << 20

// turnTo selects what was found for regions like that of p, and forgets it unless it holds for p, too.
func (e *downstream) turnTo(p *Pressure, splitsTime bool) {
	e.found = &e.whole
	if splitsTime {
		e.found = &e.split
	}
	if p.Stall != e.stalls || p.Number != e.past {
		e.stalls, e.past = p.Stall, p.Number
		e.forget()
	}
}

// forget removes what was found.
func (e *found) forget() {
	e.ways, e.exits = e.ways[:0], e.exits[:0]
	e.from.forget()
	e.extra.forget()
}

// follow passes on the queued stall, round by round, and returns the links with stall left after the last one: a cycle.
// pass takes the stall of one link and appends the links to follow to next.
func (e *flow) follow(pass func(at schema.LinkID, stall float64, next []schema.LinkID) []schema.LinkID,
) (circle []schema.LinkID) {
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

// pass divides the stall of a link between the ports that its traffic may wait for, and appends to next those behind
// which it goes on.
func (w *walk) pass(l schema.LinkID, stall float64, next []schema.LinkID) []schema.LinkID {
	_, via := w.graph.Ends(l)
	if !w.graph.IsSwitch(via) {
		w.wait(l, l, stall)
		return next
	}
	ways := w.waysFrom(l, via)
	if len(ways) == 0 {
		if w.slowItself(l) {
			w.wait(l, l, stall)
		} else {
			w.stop(l, stall)
			w.portless[l] += stall
		}
		return next
	}
	sum := 0.
	for _, way := range ways {
		sum += way.weight
	}
	for _, way := range ways {
		part := stall * way.weight / sum
		if way.stays > 0 {
			w.wait(l, way.link, part*way.stays)
		}
		if way.stays == 1 {
			continue
		}
		if w.mass[way.link] == 0 {
			next = append(next, way.link)
		}
		w.mass[way.link] += part * (1 - way.stays)
	}
	return next
}

// waysFrom lists the ports of a switch that traffic of a link into it may wait for, with the amount that waits for each
// as far as known. They are found once for all regions with the same stalls and past (found), and are valid until the
// next call.
func (w *walk) waysFrom(l schema.LinkID, via topology.DeviceID) []way {
	if len(w.ways) > mostWays {
		w.forget()
	}
	at, isNew := w.from.find(l)
	if isNew {
		ways := w.findWays(l, via)
		w.from.list[at] = waysOf{len(w.ways) - len(ways), len(w.ways)}
	}
	found := w.from.list[at]
	return w.ways[found.first:found.end]
}

// findWays finds them. Routes between groups are taken to have a hop within each, unless nothing else explains the
// stall; nor does a port that stalls far less than the link, as one that also has other traffic does, or one that is busy. A cable
// that lost rate sends all that it can.
func (w *walk) findWays(l schema.LinkID, via topology.DeviceID) []way {
	over := w.hopOver(l)
	if ways := w.waysBy(&over, passesOn); len(ways) > 0 {
		return ways
	}
	if slow := w.slowCable(via); slow != schema.NoLink && w.mayGoOn(l, slow) {
		w.ways = append(w.ways, way{link: slow, weight: 1, stays: 1})
		return w.ways[len(w.ways)-1:]
	}
	if over.global {
		over.global = false
		return w.waysBy(&over, passesOn)
	}
	ways := w.waysBy(&over, 0)
	if len(ways) > 0 {
		if busy := w.busyWays(&over); len(busy) > 0 {
			return busy
		}
	}
	return ways
}

// leastBusy and mostBusy bound the shares of time, sending or stalled, of a port that others wait for because it is busy.
const leastBusy, mostBusy = .5, .97

// busyWays appends to the ways the ports that are busy at least half of the time, and returns these. What comes for a port that
// is busy the share r of the time waits in proportion to r/(1-r), as in a queue, and because the port sends or because it
// stalls as often as it does each.
func (w *walk) busyWays(over *hop) []way {
	first := len(w.ways)
	for _, l := range w.graph.LinksAt(over.via) {
		use := w.UseOf(l)
		if use <= 0 || !w.mayFollow(over, l) {
			continue
		}
		stall := w.StallOf(l)
		if busy := min(mostBusy, (use+stall)/100); busy >= leastBusy {
			w.ways = append(w.ways, way{link: l, weight: w.Carries(l) * busy / (1 - busy), stays: w.staysAt(l)})
		}
	}
	return w.ways[first:]
}

// staysAt is the share of what waits for a busy port because it sends: none if a port behind it is busier, as it then sends what
// that takes.
func (w *walk) staysAt(l schema.LinkID) float64 {
	use, stall := w.UseOf(l), w.StallOf(l)
	if stall < stalledPercent {
		return 1
	}
	_, via := w.graph.Ends(l)
	most := 0.
	for _, out := range w.graph.LinksAt(via) {
		if w.mayWait(l, out) {
			most = max(most, w.UseOf(out))
		}
	}
	return use / (use + stall) * max(0, min(1, .5+(use-most)/(2*lessFull)))
}

// waiting reports whether a port stalls, whether it is full without stall, and whether it always sends or stalls.
func (p ports) waiting(l schema.LinkID) (stalls, full, always bool) {
	stall, use := p.StallOf(l), p.UseOf(l)
	stalls = stall >= stalledPercent
	return stalls, !stalls && use >= FullPort, use >= 0 && use+stall >= busyPort
}

// splitsTime reports whether the links of a region show stall as the rest of the time in which they send: twice as many
// links that stall add up to all of the time as to more. Some counters also count the time in which data waits because
// the link is busy.
func (p ports) splitsTime(links []schema.LinkID) bool {
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

// fullness is the share of what waits for a port because it sends all the time, not because of what is behind it. For a
// full port with some stall, that depends on whether a port behind it is fuller: finite buffers stall a full port a
// little, and a port that waits for a full one carries less than that. If it stalls for the rest of the time, the share
// is at least that of the time in which it sends: without what is behind it, no more would pass.
func (w *walk) fullness(l schema.LinkID, full bool) float64 {
	use := w.UseOf(l)
	if full {
		return 1
	}
	if use < FullPort {
		return 0
	}
	least := 0.
	if sum := use + w.StallOf(l); w.found.splitsTime && sum <= 200-busyPort {
		least = use / sum
	}
	_, via := w.graph.Ends(l)
	most := 0.
	for _, out := range w.graph.LinksAt(via) {
		if stalls, full, _ := w.waiting(out); (stalls || full) && w.mayWait(l, out) {
			if stalls && w.StallOf(out) >= passesOn*w.StallOf(l) {
				return least
			}
			most = max(most, w.UseOf(out))
		}
	}
	return max(least, min(1, .5+(use-most)/(2*lessFull)))
}

// lastAsFull follows a full port without stall along ports that take all its traffic, to a host's port if it reaches
// one. Traffic to one receiver may merge at switches before it: inputs wait where it merges first, but another route
// would not help, as the receiver's port is as full.
func (p ports) lastAsFull(first schema.LinkID) schema.LinkID {
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
			_, full, _ := p.waiting(out)
			if full && p.mayWait(l, out) &&
				math.Abs(p.UseOf(out)*p.graph.Capacity(out)-carries) <= lessFull*p.graph.Capacity(l) {
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
