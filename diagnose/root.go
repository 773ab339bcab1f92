package diagnose

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Kinds of root ports (schema.Root).
const (
	incast       = schema.RootIncast
	slowReceiver = schema.RootSlowReceiver
	linkCapacity = schema.RootLinkCapacity
	linkDown     = schema.RootLinkDown
	deadlock     = schema.RootDeadlock
)

// backPressure is what following a region's stalls to their beginning found.
type backPressure struct {
	link    schema.LinkID // that leaves the root port; schema.NoLink: not known
	kind    string        // empty: no root
	use     float64       // percent of the root's capacity in use; -1: not measured
	stall   float64       // percent of the root's own stall; 0 also if not measured
	share   float64       // of the region's stall that leads there
	slower  bool          // the root carries clearly less than before the onset
	cannot  bool          // or than it could: what waits for it shows that it is slow
	waits   bool          // most of the stall ends at a switch, but the port is not known
	at      topology.DeviceID
	cycle   []schema.LinkID
	leading schema.LinkID // without a root, the port at which the largest part begins; NoLink: not known
	filled  float64       // of the region's stall, the share that waits for full links between switches
	as      string        // the kind of root that it would be
}

const (
	// stalledPercent is from when on a link can hand back pressure on.
	stalledPercent = schema.LowPercent
	// passesOn is the least stall of the next link, of a link's own, that explains it.
	passesOn = .35
	// rootShare of a region's stall must lead to one port for it to be the root.
	rootShare = .5
	// oneReceiver of it must, for what it waits for to be the receiver of all.
	oneReceiver = .9
	// leadingShare is what must lead to a port for it to be named where no port has so much.
	leadingShare = .1
	// fullPercent of its capacity is what a full port carries at least, idlePercent what one with room carries
	// at most.
	fullPercent, idlePercent, saturatedPercent = 75, 60, 95
	// deadlockPercent of the time all links of a cycle stall, and they carry nothing, as their counters and clocks go: what
	// waits behind a full tree still goes on, and links of both directions may stall so and wait for others than each other.
	deadlockPercent, deadlockUse = 90, .5
)

// follow finds where the back pressure of a region begins, on a graph of directed links. before is what a
// link carried before the onset, percent of its capacity, -1 if that is not known.
func (p *pressure) follow(rc *regionCase, before func(schema.LinkID) float64) backPressure {
	p.before = before
	none := backPressure{link: schema.NoLink, use: -1}
	if p.graph.Duplex() {
		return none
	}
	if cycle := p.cycle(rc.region.Links); cycle != nil {
		return backPressure{link: cycle[0], kind: deadlock, use: p.useOf(cycle[0]), stall: p.stallOf(cycle[0]), share: 1, cycle: cycle}
	}
	p.spread(rc)
	return p.rootOf(rc, none)
}

// mayWait reports whether traffic of link a may go on over link b: it leaves where a enters, does not go back, not
// down a tree and up again, not to a switch that is beside the one it came from, and not from one group of a dragonfly
// to the next and the next without a hop within the group between.
func (p *pressure) mayWait(a, b schema.LinkID) bool {
	return p.mayGoOn(a, b) && !(p.graph.Link(a).Class == topology.ClassGlobal && p.graph.Link(b).Class == topology.ClassGlobal)
}

// mayGoOn is the same on routes with the fewest hops, which may lead through a group over two links between groups.
func (p *pressure) mayGoOn(a, b schema.LinkID) bool {
	from, via := p.graph.Ends(a)
	at, to := p.graph.Ends(b)
	if at != via || to == from {
		return false
	}
	if !p.graph.IsSwitch(from) || !p.graph.IsSwitch(to) {
		return true
	}
	u, v, x := p.graph.Device(from).Level, p.graph.Device(via).Level, p.graph.Device(to).Level
	if u >= 0 && v >= 0 && x >= 0 && u > v && x > v {
		return false
	}
	return !p.beside(from, to)
}

// beside reports whether a link leads from one switch to another.
func (p *pressure) beside(from, to topology.DeviceID) bool {
	for _, l := range p.graph.LinksAt(from) {
		if a, b := p.graph.Ends(l); a == from && b == to && p.graph.Link(l).Up {
			return true
		}
	}
	return false
}

// atSwitch is what of a region's stall ends at a switch.
type atSwitch struct {
	device      topology.DeviceID
	stall, lost float64       // all, and of which it is not known for which port it waits
	port        schema.LinkID // for which most waits
	most        float64
}

// switches sums up by switch what ends there, the one with most first.
func (p *pressure) switches() (out []atSwitch, total float64) {
	e := p.ends
	find := func(d topology.DeviceID) *atSwitch {
		i := slices.IndexFunc(out, func(a atSwitch) bool { return a.device == d })
		if i < 0 {
			i = len(out)
			out = append(out, atSwitch{device: d, port: schema.NoLink})
		}
		return &out[i]
	}
	for _, l := range e.known {
		from, _ := p.graph.Ends(l)
		a := find(from)
		if a.stall += e.ports[l]; e.ports[l] > a.most || e.ports[l] == a.most && l < a.port {
			a.port, a.most = l, e.ports[l]
		}
		total += e.ports[l]
	}
	for _, l := range e.last {
		if e.lost[l] > 0 {
			_, to := p.graph.Ends(l)
			a := find(to)
			a.stall, a.lost = a.stall+e.lost[l], a.lost+e.lost[l]
			total += e.lost[l]
		}
	}
	slices.SortFunc(out, func(a, b atSwitch) int { return cmp.Or(cmp.Compare(b.stall, a.stall), cmp.Compare(a.device, b.device)) })
	return out, total
}

// filled is what of a region's stall waits for full links between switches.
func (p *pressure) filled() (sum float64) {
	for _, l := range p.ends.known {
		from, to := p.graph.Ends(l)
		if p.graph.IsSwitch(from) && p.graph.IsSwitch(to) && p.useOf(l) >= fullPort {
			sum += p.ends.ports[l]
		}
	}
	return sum
}

// portOfSwitch is the port of a switch for which most of what ends there waits.
func (p *pressure) portOfSwitch(a *atSwitch, rc *regionCase) schema.LinkID {
	port := a.port
	if port == schema.NoLink || a.most < a.lost {
		if l := p.fullest(a.device, rc); l != schema.NoLink {
			port = l
		}
	}
	port = p.mostLoaded(a.device, port)
	if port == schema.NoLink || p.stallOf(port) >= stalledPercent || p.useOf(port) >= saturatedPercent {
		return port
	}
	if slow := p.slowest(a.device, rc); slow != schema.NoLink && !p.loaded(port, slow) {
		return slow // what has room and carries little more than before is not what they wait for
	}
	return port
}

// rootOf chooses the port at which most of the stall begins.
func (p *pressure) rootOf(rc *regionCase, none backPressure) backPressure {
	ends, total := p.switches()
	out := none
	var first *atSwitch
	if len(ends) > 0 {
		first = &ends[0]
		if first.stall >= rootShare*total {
			out.link, out.share = p.portOfSwitch(first, rc), first.stall/total
		}
	}
	if root := rc.region.Root; out.link == schema.NoLink && root != nil && root.Link != schema.NoLink && int(root.Link) < p.graph.NumLinks() && p.ends.ports[root.Link] >= leadingShare*total {
		out.link, out.share = root.Link, rootShare
	}
	if out.link != schema.NoLink {
		if out.share >= oneReceiver {
			out.link = p.lastAsFull(out.link)
		}
		out = p.classify(out)
	}
	if out.kind == "" && first != nil && first.lost >= rootShare*total {
		out.waits, out.at = true, first.device
	}
	if out.leading = schema.NoLink; out.kind != "" {
		ends = nil
	}
	for i := range p.mostHeld(ends, total) {
		if out.as != "" {
			break
		}
		lead := none
		if lead.link = p.portOfSwitch(&ends[i], rc); lead.link == schema.NoLink {
			lead.link = p.busiest(ends[i].device, rc)
		}
		if lead.link != schema.NoLink {
			lead = p.classify(lead)
			out.leading, out.as = lead.link, lead.kind
		}
	}
	if total > 0 {
		out.filled = p.filled() / total
	}
	return out
}

// clearlyFuller is by how much a port must carry more than the others to be the one that is full.
const clearlyFuller = 1.1

// fullest is the port of a switch that most probably cannot send on what waits for it there: one that is
// down, the one that clearly carries most, or the only one that traffic of the region can take.
func (p *pressure) fullest(at topology.DeviceID, rc *regionCase) schema.LinkID {
	best, only, n := schema.NoLink, schema.NoLink, 0
	most, second := 0., 0.
	for _, l := range p.graph.LinksAt(at) {
		if from, _ := p.graph.Ends(l); from != at || !p.entered(at, l, rc) {
			continue
		}
		only, n = l, n+1
		switch use := p.useOf(l); {
		case use > most:
			best, most, second = l, use, most
		case use > second:
			second = use
		}
	}
	if best != schema.NoLink && (most >= saturatedPercent || most >= fullPercent && most >= clearlyFuller*second) {
		return best // of several that are full each is a root
	}
	if slow := p.slowest(at, rc); slow != schema.NoLink && most < fullPercent && !p.loaded(best, slow) {
		return slow
	}
	if best != schema.NoLink && most >= clearlyFuller*second {
		return best
	}
	if n == 1 {
		return only
	}
	return schema.NoLink
}

// busiest is the port of a switch that carries most of those for which the region may wait there.
func (p *pressure) busiest(at topology.DeviceID, rc *regionCase) schema.LinkID {
	best, most := schema.NoLink, 0.
	for _, l := range p.graph.LinksAt(at) {
		if from, _ := p.graph.Ends(l); from == at && p.useOf(l) > most && p.entered(at, l, rc) {
			best, most = l, p.useOf(l)
		}
	}
	return best
}

// entered reports whether a link of the region that enters a switch may wait for one that leaves it.
func (p *pressure) entered(at topology.DeviceID, out schema.LinkID, rc *regionCase) bool {
	for _, l := range p.graph.LinksAt(at) {
		if _, found := slices.BinarySearch(rc.region.Links, l); found && p.mayWait(l, out) {
			return true
		}
	}
	return false
}

// classify finds the kind of a root by what its port carries and how much that stalls.
func (p *pressure) classify(b backPressure) backPressure {
	b.use, b.stall = p.useOf(b.link), p.stallOf(b.link)
	from, to := p.graph.Ends(b.link)
	b.cannot = b.stall < stalledPercent && b.use < fullPercent && p.canSend(b.link) < clearlyLess
	switch {
	case b.use >= leastUse && b.stall < stalledPercent && !p.graph.IsSwitch(to) && (b.cannot || p.ceiling(b.link) < clearlyLess):
		b.kind, b.slower = slowReceiver, true // others wait for it
	case b.use >= 0 && b.use < idlePercent && b.stall < stalledPercent && p.graph.IsSwitch(from) && !p.graph.IsSwitch(to):
		return backPressure{link: schema.NoLink, use: -1} // it neither stalls nor is it busy: nothing begins here
	case p.graph.IsSwitch(to):
		b.kind, b.slower = linkCapacity, b.cannot || b.use < fullPercent && p.ceiling(b.link) < clearlyLess
		if !p.graph.Link(b.link).Up {
			b.kind = linkDown
		}
	case b.use >= fullPercent:
		b.kind = incast
	case b.stall < stalledPercent:
		b.kind = incast // the port is not paused: it is busy, measured or not
	case b.use >= 0 && b.use <= idlePercent, b.use < 0:
		b.kind = slowReceiver
	default:
		b.kind = incast
		if b.stall > 100-b.use {
			b.kind = slowReceiver
		}
	}
	return b
}

// flood is what the root carries, and how much more than before the onset, bytes/s; of a region without one, the port at which
// the largest part of it begins, or its fullest link.
func (p *pressure) flood(rc *regionCase) (fullest schema.LinkID, now, more float64) {
	fullest = schema.NoLink
	links := rc.region.Links
	switch {
	case rc.back.kind != "":
		links = []schema.LinkID{rc.back.link}
	case rc.back.as != "":
		links = []schema.LinkID{rc.back.leading}
	}
	for _, l := range links {
		if v := p.useOf(l) / 100 * p.graph.Capacity(l); v > now {
			fullest, now, more = l, v, 0
			if was := p.before(l); was >= 0 {
				more = max(0, v-was/100*p.graph.Capacity(l))
			}
		}
	}
	return fullest, now, more
}

// cycle finds links of a region that wait for each other in a circle and carry next to nothing, or nil.
func (p *pressure) cycle(links []schema.LinkID) []schema.LinkID {
	stuck := func(l schema.LinkID) bool {
		use := p.useOf(l)
		from, to := p.graph.Ends(l)
		return p.stallOf(l) >= deadlockPercent && use <= deadlockUse && (use >= 0 || p.stallOf(l) >= 99) && p.graph.IsSwitch(from) && p.graph.IsSwitch(to)
	}
	state := map[schema.LinkID]int8{} // 1 on the path, 2 done
	var path []schema.LinkID
	var visit func(l schema.LinkID) []schema.LinkID
	visit = func(l schema.LinkID) []schema.LinkID {
		state[l] = 1
		path = append(path, l)
		from, via := p.graph.Ends(l)
		for _, next := range p.graph.LinksAt(via) {
			at, to := p.graph.Ends(next)
			if at != via || to == from || !stuck(next) {
				continue
			}
			switch state[next] {
			case 0:
				if c := visit(next); c != nil {
					return c
				}
			case 1:
				return slices.Clone(path[slices.Index(path, next):])
			}
		}
		state[l] = 2
		path = path[:len(path)-1]
		return nil
	}
	for _, l := range links {
		if state[l] == 0 && stuck(l) {
			if c := visit(l); c != nil {
				return c
			}
		}
	}
	return nil
}
