package root

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

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
	// fullPercent is the least use of a full port, idlePercent the highest of a stalled port that its host holds back,
	// and saturatedPercent the least of one that surely sends all it can.
	fullPercent, idlePercent, saturatedPercent = 75, 60, 95
	// deadlockPercent is the least stall and deadlockUse the highest use, percent, of all links of a deadlocked cycle,
	// within the precision of counters and clocks. Behind a full tree traffic still moves, and links of both directions
	// may stall as much while they wait for other links.
	deadlockPercent, deadlockUse = 90, .5
)

// Follow finds where the back pressure of a region begins, on a graph of directed links. Each link of the region counts
// by its weight. The result is valid until the next interval (On).
func (f *Finder) Follow(p *Pressure, region *schema.Region, weight []float64) BackPressure {
	if f.graph.Duplex() {
		return BackPressure{Root: noPort, Leading: noPort}
	}
	w := &walk{ports{p}, &f.down}
	if cycle := w.cycle(region.Links); cycle != nil {
		first := Port{Link: cycle[0], Kind: schema.RootDeadlock, Use: p.UseOf(cycle[0]), Stall: p.StallOf(cycle[0]),
			Share: 1}
		return BackPressure{Root: first, Cycle: cycle, Leading: noPort}
	}
	w.spread(region.Links, weight)
	b := w.rootOf(region.Links)
	b.ends = w.keepEnds(w.graph)
	return b
}

// atSwitch is the part of a region's stall that ends at a switch, or at several ports that lead to one host.
type atSwitch struct {
	device      topology.DeviceID
	host        topology.DeviceID // to which the ports lead; of a switch, itself
	stall, lost float64           // all of it, and the part whose port is not known
	port        schema.LinkID     // the port for which most waits
	most        float64
}

// switches sums up the stall by the switch where it ends, or by the host for several of whose ports it waits, in
// descending order.
func (w *walk) switches() (out []atSwitch, total float64) {
	find := func(d, host topology.DeviceID) *atSwitch {
		i := slices.IndexFunc(out, func(a atSwitch) bool { return a.host == host })
		if i < 0 {
			i = len(out)
			out = append(out, atSwitch{device: d, host: host, port: schema.NoLink})
		}
		return &out[i]
	}
	w.countPorts()
	for _, l := range w.known {
		from, to := w.graph.Ends(l)
		host := from
		if w.heldPorts[w.hostOf[to]] > 1 {
			host = w.hostOf[to]
		}
		a := find(from, host)
		if a.stall += w.toPort[l]; w.toPort[l] > a.most || w.toPort[l] == a.most && l < a.port {
			a.device, a.port, a.most = from, l, w.toPort[l]
		}
		total += w.toPort[l]
	}
	for _, l := range w.last {
		if w.portless[l] > 0 {
			_, to := w.graph.Ends(l)
			a := find(to, to)
			a.stall, a.lost = a.stall+w.portless[l], a.lost+w.portless[l]
			total += w.portless[l]
		}
	}
	slices.SortFunc(out, func(a, b atSwitch) int {
		return cmp.Or(cmp.Compare(b.stall, a.stall), cmp.Compare(a.host, b.host))
	})
	return out, total
}

// countPorts counts the ports to each host that stall waits for.
func (w *walk) countPorts() {
	clear(w.heldPorts)
	for _, l := range w.known {
		if _, to := w.graph.Ends(l); !w.graph.IsSwitch(to) {
			w.heldPorts[w.hostOf[to]]++
		}
	}
}

// portOfSwitch is the port for which most of the stall that ends at a switch waits.
func (w *walk) portOfSwitch(a *atSwitch, links []schema.LinkID) schema.LinkID {
	port := a.port
	if w.endsAtNodes(a) {
		return schema.NoLink
	}
	if a.host != a.device {
		return port
	}
	if a.most < a.lost {
		if l := w.fullest(a.device, links); l != schema.NoLink || !w.measures() {
			port = l
		}
	}
	if port == schema.NoLink || w.StallOf(port) >= stalledPercent || w.UseOf(port) >= saturatedPercent {
		return port
	}
	if slow := w.slowest(a.device, links); slow != schema.NoLink && !w.loaded(port, slow) {
		return slow // traffic does not wait for a port with spare capacity and little added load
	}
	return port
}

// rootOf chooses the port where most of the stall begins or, if that is not known, the port or switch with the largest
// part.
func (w *walk) rootOf(links []schema.LinkID) BackPressure {
	b := BackPressure{Root: noPort, Leading: noPort}
	ends, total := w.switches()
	if root := w.portWithMost(ends, total, links); root.Link != schema.NoLink {
		b.Root = w.classify(root)
	}
	if b.HasRoot() || len(ends) == 0 {
		return b
	}
	b.Switch = Switch{Device: ends[0].device, Share: ends[0].lost / total, slow: schema.NoLink}
	if w.endsAtNodes(&ends[0]) {
		b.Switch.Kind = schema.RootIncast
		return b
	}
	for i := range ends {
		if ends[i].stall < leadingShare*total {
			break
		}
		if b.Leading = w.portAt(&ends[i], links); b.Leading.Kind != "" {
			b.Leading.Share = ends[i].stall / total
			break
		}
		if i == 0 && !w.measures() {
			if b.Switch.Kind = w.kindAt(&ends[i]); b.Switch.Kind == schema.RootLinkCapacity {
				b.Switch.slow = w.slowAt(b.Switch.Device)
			}
		}
	}
	return b
}

// portWithMost is the port for which most of the stall that ends at the given switches waits, with its share but not
// yet its kind: at the switch where most ends, or at a slow cable with that at both of its ends.
func (w *walk) portWithMost(ends []atSwitch, total float64, links []schema.LinkID) Port {
	port := noPort
	if len(ends) > 0 && ends[0].stall >= rootShare*total {
		port.Link, port.Share = w.portOfSwitch(&ends[0], links), ends[0].stall/total
	}
	if cable, share := w.heldAtBothEnds(ends, total); cable != schema.NoLink && share >= port.Share {
		port.Link, port.Share = cable, share
	}
	if port.Link != schema.NoLink && port.Share >= oneReceiver {
		port.Link = w.lastAsFull(port.Link)
	}
	return port
}

// portAt is the port of a switch where stall ends, as a root: the one for which most waits, or else the busiest.
func (w *walk) portAt(a *atSwitch, links []schema.LinkID) Port {
	port := noPort
	if port.Link = w.portOfSwitch(a, links); port.Link == schema.NoLink {
		port.Link = w.busiest(a.device, links)
	}
	if port.Link == schema.NoLink {
		return noPort
	}
	return w.classify(port)
}

// kindAt is the kind of a root at a switch whose port is not known. What arrives from other switches at one with hosts
// goes to these.
func (w *walk) kindAt(a *atSwitch) string {
	arrives := 0.
	for _, l := range w.last {
		if from, to := w.graph.Ends(l); to == a.device && w.graph.IsSwitch(from) {
			arrives += w.portless[l]
		}
	}
	if arrives >= leadingShare*a.lost && slices.ContainsFunc(w.graph.LinksAt(a.device), func(l schema.LinkID) bool {
		return !w.graph.BetweenSwitches(l)
	}) {
		return schema.RootIncast
	}
	return schema.RootLinkCapacity
}

// clearlyFuller is the use of a port relative to the others from which on it is the full one.
const clearlyFuller = 1.1

// fullest is the port of a switch that most likely blocks the traffic waiting there: one that is down, the one that
// clearly carries most, or the only one that traffic of the region can take.
func (p ports) fullest(at topology.DeviceID, links []schema.LinkID) schema.LinkID {
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
	if most >= saturatedPercent {
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
func (p ports) busiest(at topology.DeviceID, links []schema.LinkID) schema.LinkID {
	best, most := schema.NoLink, 0.
	for _, l := range p.graph.LinksAt(at) {
		if from, _ := p.graph.Ends(l); from == at && p.UseOf(l) > most && p.entered(at, l, links) {
			best, most = l, p.UseOf(l)
		}
	}
	return best
}

// entered reports whether a link of the region into a switch may wait for a link out of it.
func (p ports) entered(at topology.DeviceID, out schema.LinkID, links []schema.LinkID) bool {
	for _, l := range p.graph.LinksAt(at) {
		if _, found := slices.BinarySearch(links, l); found && p.mayWait(l, out) {
			return true
		}
	}
	return false
}

// classify derives the kind of a root from the use and stall of its port.
func (p ports) classify(port Port) Port {
	port.Use, port.Stall = p.UseOf(port.Link), p.StallOf(port.Link)
	from, to := p.graph.Ends(port.Link)
	stalls, toHost := port.Stall >= stalledPercent, !p.graph.IsSwitch(to)
	port.Cannot = !stalls && port.Use < fullPercent && (p.sendsAtMost(port.Link) < ClearlyLess || p.isCableSlow(port.Link))
	switch {
	case toHost && !stalls && port.Use >= LeastUse && (port.Cannot || p.left(port.Link) < ClearlyLess):
		port.Kind, port.Slower = schema.RootSlowReceiver, true // traffic waits for it
	case toHost && !stalls && port.Use >= 0 && port.Use < LeastUse && p.graph.IsSwitch(from):
		return noPort // it hardly sends, and does not stall: nothing begins here
	case !toHost:
		port.Kind = schema.RootLinkCapacity
		port.Slower = port.Cannot || port.Use < fullPercent && p.left(port.Link) < ClearlyLess
		if !p.graph.Link(port.Link).Up {
			port.Kind = schema.RootLinkDown
		}
	case port.Use >= fullPercent:
		port.Kind = schema.RootIncast
	case !stalls:
		port.Kind = schema.RootIncast // the port is not paused: it is busy, measured or not
	case port.Use >= 0 && port.Use <= idlePercent, port.Use < 0:
		port.Kind = schema.RootSlowReceiver
	default:
		port.Kind = schema.RootIncast
		if port.Stall > 100-port.Use {
			port.Kind = schema.RootSlowReceiver
		}
	}
	return port
}

// LoadAt returns the root's load and how much that exceeds the load before the onset, bytes/s; without a root, those of
// the port where the largest part begins, or of the link with the highest load.
func (p *Pressure) LoadAt(b *BackPressure, links []schema.LinkID) (fullest schema.LinkID, now, more float64) {
	fullest = schema.NoLink
	switch {
	case b.HasRoot():
		links = []schema.LinkID{b.Root.Link}
	case b.Leading.Kind != "":
		links = []schema.LinkID{b.Leading.Link}
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
func (p ports) cycle(links []schema.LinkID) []schema.LinkID {
	stuck := func(l schema.LinkID) bool {
		use, stall := p.UseOf(l), p.StallOf(l)
		return stall >= deadlockPercent && use <= deadlockUse && (use >= 0 || stall >= 99) && p.graph.BetweenSwitches(l)
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
