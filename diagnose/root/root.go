package root

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// BackPressure is the result of following a region's stall to its origin.
type BackPressure struct {
	Link    schema.LinkID     // the link that leaves the root port; schema.NoLink: not known
	Kind    string            // as schema.Root.Kind; empty: no root
	Use     float64           // percent of the root's capacity; -1: not measured
	Stall   float64           // percent of time that the root itself stalls; 0 also if not measured
	Slower  bool              // the root carries clearly less than before the onset
	Cannot  bool              // the root sends less than its capacity although traffic waits for it
	Waits   bool              // most of the stall ends at a switch, but the port is not known
	At      topology.DeviceID // the switch, if Waits or KindAt
	Cycle   []schema.LinkID   // of a deadlock: the links that wait for each other, in order
	Leading schema.LinkID     // without a root: the port where the largest part begins; NoLink: not known
	As      string            // the kind that Leading would have as a root
	KindAt  string            // without either: the kind of a root at the switch At, where the largest part ends; empty: not known

	share float64 // share of the region's stall that leads to the root
}

// IsFull reports whether the root carries nearly its capacity.
func (b *BackPressure) IsFull() bool { return b.Use >= fullPercent }

// HasSwitch reports whether most of the stall ends at a switch, but it is not known for which of its ports it waits.
func (b *BackPressure) HasSwitch() bool { return b.Kind == "" && b.Waits && b.KindAt != "" }

// IsIncast reports whether more arrives for a host than its port can deliver, also if it is not known for which host of a switch.
func (b *BackPressure) IsIncast() bool {
	return b.Kind == schema.RootIncast || b.HasSwitch() && b.KindAt == schema.RootIncast
}

const (
	// stalledPercent is the stall from which on a link can propagate back pressure.
	stalledPercent = schema.LowPercent
	// passesOn is the least stall of the next link, relative to a link's own stall, that explains it if another might.
	passesOn = .35
	// rootShare of a region's stall must lead to one port for it to be the root.
	rootShare = .5
	// oneReceiver is the share from which on the whole region is taken to wait for one receiver.
	oneReceiver = .9
	// leadingShare is the share from which on a port is named although none has rootShare.
	leadingShare = .1
	// fullPercent is the least use of a full port, idlePercent the highest of a port with spare capacity, and saturatedPercent
	// the least of one that surely sends all it can.
	fullPercent, idlePercent, saturatedPercent = 75, 60, 95
	// deadlockPercent is the least stall and deadlockUse the highest use, percent, of all links of a deadlocked cycle, within
	// the precision of counters and clocks. Behind a full tree traffic still moves, and links of both directions may stall as
	// much while they wait for other links.
	deadlockPercent, deadlockUse = 90, .5
)

// Follow finds where the back pressure of a region begins, on a graph of directed links. Each link of the region counts by its
// weight.
func (p *Pressure) Follow(region *schema.Region, weight []float64) BackPressure {
	none := BackPressure{Link: schema.NoLink, Use: -1}
	if p.graph.Duplex() {
		return none
	}
	if cycle := p.cycle(region.Links); cycle != nil {
		return BackPressure{Link: cycle[0], Kind: schema.RootDeadlock, Use: p.UseOf(cycle[0]), Stall: p.StallOf(cycle[0]), share: 1, Cycle: cycle}
	}
	p.spread(region.Links, weight)
	return p.rootOf(region, none)
}

// atSwitch is the part of a region's stall that ends at a switch.
type atSwitch struct {
	device      topology.DeviceID
	stall, lost float64       // all of it, and the part whose port is not known
	port        schema.LinkID // the port for which most waits
	most        float64
}

// switches sums up the stall by the switch where it ends, in descending order.
func (p *Pressure) switches() (out []atSwitch, total float64) {
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

// portOfSwitch is the port for which most of the stall that ends at a switch waits.
func (p *Pressure) portOfSwitch(a *atSwitch, links []schema.LinkID) schema.LinkID {
	port := a.port
	if port == schema.NoLink || a.most < a.lost {
		if l := p.fullest(a.device, links); l != schema.NoLink || !p.measures() {
			port = l
		}
	}
	port = p.mostLoaded(a.device, port)
	if port == schema.NoLink || p.StallOf(port) >= stalledPercent || p.UseOf(port) >= saturatedPercent {
		return port
	}
	if slow := p.slowest(a.device, links); slow != schema.NoLink && !p.loaded(port, slow) {
		return slow // traffic does not wait for a port with spare capacity and little added load
	}
	return port
}

// rootOf chooses the port where most of the stall begins.
func (p *Pressure) rootOf(region *schema.Region, none BackPressure) BackPressure {
	ends, total := p.switches()
	out := none
	var first *atSwitch
	if len(ends) > 0 {
		first = &ends[0]
		if first.stall >= rootShare*total {
			out.Link, out.share = p.portOfSwitch(first, region.Links), first.stall/total
		}
	}
	if cable, share := p.heldAtBothEnds(ends, total); cable != schema.NoLink && share >= out.share {
		out.Link, out.share = cable, share
	}
	if root := region.Root; out.Link == schema.NoLink && root != nil && root.Link != schema.NoLink && int(root.Link) < p.graph.NumLinks() && p.ends.ports[root.Link] >= leadingShare*total {
		out.Link, out.share = root.Link, rootShare
	}
	if out.Link != schema.NoLink {
		if out.share >= oneReceiver {
			out.Link = p.lastAsFull(out.Link)
		}
		out = p.classify(out)
	}
	if out.Kind == "" && first != nil && first.lost >= rootShare*total {
		out.Waits, out.At = true, first.device
	}
	if out.Leading = schema.NoLink; out.Kind != "" {
		ends = nil
	}
	for i := range ends {
		if out.As != "" || ends[i].stall < leadingShare*total {
			break
		}
		lead := none
		if lead.Link = p.portOfSwitch(&ends[i], region.Links); lead.Link == schema.NoLink {
			lead.Link = p.busiest(ends[i].device, region.Links)
		}
		if lead.Link != schema.NoLink {
			lead = p.classify(lead)
			out.Leading, out.As = lead.Link, lead.Kind
		}
		if i == 0 && out.As == "" && !p.measures() {
			out.At, out.KindAt = ends[i].device, p.kindAt(&ends[i])
		}
	}
	return out
}

// measures reports whether the load of links is measured.
func (p *Readings) measures() bool { return p.Use != nil || p.Rate != nil }

// kindAt is the kind of a root at a switch whose port is not known. What arrives from other switches at one with hosts goes to these.
func (p *Pressure) kindAt(a *atSwitch) string {
	arrives := 0.
	for _, l := range p.ends.last {
		if from, to := p.graph.Ends(l); to == a.device && p.graph.IsSwitch(from) {
			arrives += p.ends.lost[l]
		}
	}
	if arrives >= leadingShare*a.lost && slices.ContainsFunc(p.graph.LinksAt(a.device), func(l schema.LinkID) bool {
		from, to := p.graph.Ends(l)
		return !p.graph.IsSwitch(from) || !p.graph.IsSwitch(to)
	}) {
		return schema.RootIncast
	}
	return schema.RootLinkCapacity
}

// clearlyFuller is the use of a port relative to the others from which on it is the full one.
const clearlyFuller = 1.1

// fullest is the port of a switch that most likely blocks the traffic waiting there: one that is down, the one that clearly
// carries most, or the only one that traffic of the region can take.
func (p *Pressure) fullest(at topology.DeviceID, links []schema.LinkID) schema.LinkID {
	best, only, n := schema.NoLink, schema.NoLink, 0
	most, second := 0., 0.
	for _, l := range p.graph.LinksAt(at) {
		if from, _ := p.graph.Ends(l); from != at || !p.entered(at, l, links) {
			continue
		}
		only, n = l, n+1
		switch use := p.UseOf(l); {
		case use > most:
			best, most, second = l, use, most
		case use > second:
			second = use
		}
	}
	if best != schema.NoLink && (most >= saturatedPercent || most >= fullPercent && most >= clearlyFuller*second) {
		return best // if several are full, each is a root
	}
	if slow := p.slowest(at, links); slow != schema.NoLink && most < fullPercent && !p.loaded(best, slow) {
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

// busiest is the port with the highest use among those of a switch that the region may wait for.
func (p *Pressure) busiest(at topology.DeviceID, links []schema.LinkID) schema.LinkID {
	best, most := schema.NoLink, 0.
	for _, l := range p.graph.LinksAt(at) {
		if from, _ := p.graph.Ends(l); from == at && p.UseOf(l) > most && p.entered(at, l, links) {
			best, most = l, p.UseOf(l)
		}
	}
	return best
}

// entered reports whether a link of the region into a switch may wait for a link out of it.
func (p *Pressure) entered(at topology.DeviceID, out schema.LinkID, links []schema.LinkID) bool {
	for _, l := range p.graph.LinksAt(at) {
		if _, found := slices.BinarySearch(links, l); found && p.mayWait(l, out) {
			return true
		}
	}
	return false
}

// classify derives the kind of a root from the use and stall of its port.
func (p *Pressure) classify(b BackPressure) BackPressure {
	b.Use, b.Stall = p.UseOf(b.Link), p.StallOf(b.Link)
	from, to := p.graph.Ends(b.Link)
	b.Cannot = b.Stall < stalledPercent && b.Use < fullPercent && (p.canSend(b.Link) < ClearlyLess || p.isCableSlow(b.Link))
	switch {
	case b.Use >= LeastUse && b.Stall < stalledPercent && !p.graph.IsSwitch(to) && (b.Cannot || p.left(b.Link) < ClearlyLess):
		b.Kind, b.Slower = schema.RootSlowReceiver, true // traffic waits for it
	case b.Use >= 0 && b.Use < idlePercent && b.Stall < stalledPercent && p.graph.IsSwitch(from) && !p.graph.IsSwitch(to) && !p.bursts(b.Link):
		return BackPressure{Link: schema.NoLink, Use: -1} // neither stalled nor busy: nothing begins here
	case p.graph.IsSwitch(to):
		b.Kind, b.Slower = schema.RootLinkCapacity, b.Cannot || b.Use < fullPercent && p.left(b.Link) < ClearlyLess
		if !p.graph.Link(b.Link).Up {
			b.Kind = schema.RootLinkDown
		}
	case b.Use >= fullPercent:
		b.Kind = schema.RootIncast
	case b.Stall < stalledPercent:
		b.Kind = schema.RootIncast // the port is not paused: it is busy, measured or not
	case b.Use >= 0 && b.Use <= idlePercent, b.Use < 0:
		b.Kind = schema.RootSlowReceiver
	default:
		b.Kind = schema.RootIncast
		if b.Stall > 100-b.Use {
			b.Kind = schema.RootSlowReceiver
		}
	}
	return b
}

// LoadAt returns the root's load and how much that exceeds the load before the onset, bytes/s; without a root, those of the
// port where the largest part begins, or of the link with the highest load.
func (p *Pressure) LoadAt(b *BackPressure, links []schema.LinkID) (fullest schema.LinkID, now, more float64) {
	fullest = schema.NoLink
	switch {
	case b.Kind != "":
		links = []schema.LinkID{b.Link}
	case b.As != "":
		links = []schema.LinkID{b.Leading}
	}
	for _, l := range links {
		if v := p.UseOf(l) / 100 * p.graph.Capacity(l); v > now {
			fullest, now, more = l, v, 0
			if was := p.Before(l); was >= 0 {
				more = max(0, v-was/100*p.graph.Capacity(l))
			}
		}
	}
	return fullest, now, more
}

// cycle finds links of a region that wait for each other in a cycle and carry next to nothing, or nil.
func (p *Pressure) cycle(links []schema.LinkID) []schema.LinkID {
	stuck := func(l schema.LinkID) bool {
		use := p.UseOf(l)
		from, to := p.graph.Ends(l)
		return p.StallOf(l) >= deadlockPercent && use <= deadlockUse && (use >= 0 || p.StallOf(l) >= 99) && p.graph.IsSwitch(from) && p.graph.IsSwitch(to)
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
