package history

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// SilentCable is a cable between switches that carried traffic and now carries nothing in either direction, while its
// sources have more to send: it is dead, whether or not a log reports it. A slow link still carries something.
type SilentCable struct {
	PlacedFailure
	since  int64   // first slot in which it carries nothing
	Waits  bool    // traffic waits before a switch at its end that did not wait before
	Unread bool    // its ports give no readings, but others of its switches do: dead ports of some devices give none
	Doubt  float64 // 0 to 1: that its traffic ended instead
	Logged bool    // a log reports it
	FedBy  int     // index of the silent cable that fed it, whose counters stopped with it; -1: none
}

const (
	// silentLevel is the highest load of a link that carries nothing, in levels (.6%): management packets, and packets
	// in flight when it died.
	silentLevel = 1
	// leastUse is the least load of a cable before it died, percent of capacity, that counts, as for links that lost
	// rate (package root).
	leastUse = 5
	// usedBack is the least load of a cable's less loaded direction before it died, percent of capacity: one-way
	// traffic that pauses or is held back elsewhere is more common than a dead cable.
	usedBack = 1
	// fewSilent cables may die together; if more fall silent at the same time, a job has ended.
	fewSilent = 4
	// leastSilent silent cables of a switch, if all that carried anything, mean a dead switch.
	leastSilent = 3
	// SilentDoubt is the score that full doubt takes from a cable.
	SilentDoubt = 4.
)

// FindSilent lists the cables that are dead by their counters. None on a grid, where one reading stands for both
// directions: there a congestion tree holds up the senders of many links, which then have nothing to send.
func (h *History) FindSilent() {
	h.Silent = h.Silent[:0]
	use := h.memory.metrics[schema.BandwidthUsed]
	if use == nil || h.graph.Duplex() {
		return
	}
	quiet := h.quietLinks[:0]
	for l := range schema.LinkID(h.graph.NumLinks()) {
		if back := h.backOf(l); h.graph.BetweenSwitches(l) && (back == schema.NoLink || l < back) && h.quiet(use, l, back) {
			quiet = append(quiet, l)
		}
	}
	h.quietLinks = quiet
	oldest := h.oldest(use)
	for slot := h.Clock.Now - 1; slot >= oldest && len(quiet) > 0; slot-- {
		row, left := use.Row(slot), quiet[:0]
		for _, l := range quiet {
			back := h.backOf(l)
			if !carries(row, l) && !carries(row, back) {
				left = append(left, l)
				continue
			}
			a, b := h.carried(use, l, slot), h.carried(use, back, slot)
			unread := !h.readNow(use, l, back)
			if max(a, b) >= leastUse && (back == schema.NoLink || min(a, b) >= usedBack || unread) {
				h.addSilent(l, slot+1, unread)
			}
		}
		quiet = left
	}
	h.joinSilent(use)
	h.Silent = slices.DeleteFunc(h.Silent, func(c SilentCable) bool { // a single reading may be lost
		return c.Unread && c.since == h.Clock.Now && h.together(&c, func(o *SilentCable) bool { return !o.Unread }) < 0
	})
	for i := range h.Silent {
		h.findDemand(&h.Silent[i])
	}
}

// backOf is the other direction of a cable; NoLink on a grid, where one link is both.
func (h *History) backOf(l schema.LinkID) schema.LinkID {
	port := h.back
	if port == nil {
		port = make([]schema.LinkID, h.graph.NumLinks())
		for l := range port {
			port[l] = schema.NoLink
			if link := h.graph.Link(schema.LinkID(l)); !h.graph.Duplex() {
				at, _ := h.graph.PortAt(link.From, link.FromPort)
				port[l] = at.Ingress
			}
		}
		h.back = port
	}
	if l == schema.NoLink {
		return l
	}
	return port[l]
}

// carries reports whether a link carried anything in a slot.
func carries(row []uint8, l schema.LinkID) bool {
	return l != schema.NoLink && row[l] != LevelMissing && row[l] > silentLevel
}

// readNow reports whether a direction of a cable was read in this interval.
func (h *History) readNow(use *levels, l, back schema.LinkID) bool {
	row := use.Row(h.Clock.Now)
	return row[l] != LevelMissing || back != schema.NoLink && row[back] != LevelMissing
}

// quiet reports whether a cable carries nothing in this interval: neither direction shows load, and if neither was
// read, both of its switches have other readings.
func (h *History) quiet(use *levels, l, back schema.LinkID) bool {
	row := use.Row(h.Clock.Now)
	if carries(row, l) || carries(row, back) {
		return false
	}
	from, to := h.graph.Ends(l)
	return h.readNow(use, l, back) || h.reads(row, from) && h.reads(row, to)
}

// reads reports whether any counter of a switch was read.
func (h *History) reads(row []uint8, d topology.DeviceID) bool {
	return slices.ContainsFunc(h.graph.LinksAt(d), func(l schema.LinkID) bool {
		from, _ := h.graph.Ends(l)
		return row[l] != LevelMissing && (from == d || h.graph.Duplex())
	})
}

// fellWith reports whether two cables fell silent together: in the same interval or one apart, as a cable may
// have carried enough in the interval in which it died.
func (c *SilentCable) fellWith(o *SilentCable) bool {
	return max(o.since-c.since, c.since-o.since) <= 1
}

// together is the index of a cable that satisfies some and fell silent together with c; -1: none.
func (h *History) together(c *SilentCable, some func(*SilentCable) bool) int {
	return slices.IndexFunc(h.Silent, func(o SilentCable) bool { return o.fellWith(c) && some(&o) })
}

// carried is the mean load of a link in the last idleIntervals intervals up to a slot, percent of its capacity.
func (h *History) carried(use *levels, l schema.LinkID, upTo int64) float64 {
	if l == schema.NoLink {
		return 0
	}
	return max(0, use.over(max(upTo-idleIntervals+1, h.oldest(use)), upTo, l))
}

// addSilent adds a cable that carries nothing since a slot; it is marked logged if a log reports its failure.
func (h *History) addSilent(l schema.LinkID, since int64, unread bool) {
	key := h.graph.PortKey(l)
	c := SilentCable{since: since, Unread: unread, PlacedFailure: PlacedFailure{Failure: schema.Failure{
		Fabric: h.graph.Fabric(), Time: schema.Instant(since * h.Clock.Duration), Kind: schema.LinkDownSuspected,
		Device: key.Device, Port: key.Port}}}
	c.Place(h.graph)
	isOwn := func(l schema.LinkID) bool { return slices.Contains(c.Links, l) }
	for i := range h.Failures {
		if f := &h.Failures[i]; f.Broke() && slices.ContainsFunc(f.Links, isOwn) && !h.isRestored(f) {
			c.Logged = true
		}
	}
	h.Silent = append(h.Silent, c)
}

// Refutes reports whether the counters of this interval refute that a part is dead: a link of it carries something.
func (h *History) Refutes(kind schema.EventKind, device, port string) bool {
	use := h.memory.metrics[schema.BandwidthUsed]
	if use == nil || kind != schema.LinkDownSuspected && kind != schema.SwitchDownSuspected {
		return false
	}
	part := PlacedFailure{Failure: schema.Failure{Kind: kind, Device: device, Port: port}}
	part.Place(h.graph)
	row := use.Row(h.Clock.Now)
	return slices.ContainsFunc(part.Links, func(l schema.LinkID) bool { return carries(row, l) })
}

// isRestored reports whether a log says that the failed part came back.
func (h *History) isRestored(f *PlacedFailure) bool {
	return slices.ContainsFunc(h.Failures, func(o PlacedFailure) bool {
		return !o.Broke() && o.Device == f.Device && o.Port == f.Port && o.Time >= f.Time
	})
}

// joinSilent merges cables of a switch that fell silent together into a dead switch if no other cable of it has
// traffic.
func (h *History) joinSilent(use *levels) {
	for i := 0; i < len(h.Silent); i++ {
		c := &h.Silent[i]
		if c.Port == "" || c.Logged {
			continue
		}
		for _, d := range c.Devices {
			n := 0
			of := func(o SilentCable) bool {
				return o.Port != "" && !o.Logged && slices.Contains(o.Devices, d) && o.fellWith(c)
			}
			for j := range h.Silent {
				if of(h.Silent[j]) {
					n++
				}
			}
			if n < leastSilent || h.isAlive(use, d) {
				continue
			}
			whole := SilentCable{since: c.since, PlacedFailure: PlacedFailure{Failure: c.Failure}}
			whole.Kind, whole.Device, whole.Port = schema.SwitchDownSuspected, h.graph.Device(d).Name, ""
			h.Silent = append(slices.DeleteFunc(h.Silent, of), whole)
			h.Silent[len(h.Silent)-1].Place(h.graph)
			i = -1 // restart
			break
		}
	}
}

// isAlive reports whether a switch shows that it is alive: one of its links carries something or, where links have
// directions, its own counters are read.
func (h *History) isAlive(use *levels, d topology.DeviceID) bool {
	row := use.Row(h.Clock.Now)
	return slices.ContainsFunc(h.graph.LinksAt(d), func(l schema.LinkID) bool {
		from, _ := h.graph.Ends(l)
		return carries(row, l) || !h.graph.Duplex() && from == d && row[l] != LevelMissing
	})
}

// findDemand finds whether the load of a cable is still to be sent: traffic waits at its ends that did not wait before.
// If not, or if many cables fell silent at the same time, the traffic may have ended.
func (h *History) findDemand(c *SilentCable) {
	c.FedBy = -1
	fedByLogged := func() bool { return h.together(c, func(o *SilentCable) bool { return o.Logged }) >= 0 }
	if h.jobEnded(c) || fedByLogged() {
		c.Doubt = 1
		return
	}
	for _, d := range c.Devices {
		for _, l := range h.graph.LinksAt(d) {
			if _, to := h.graph.Ends(l); to == d || h.graph.Duplex() {
				c.Waits = c.Waits || h.waitsMore(l, c.since)
			}
		}
	}
	together := 0.
	h.together(c, func(*SilentCable) bool { together++; return false })
	sure := .5 * min(1, fewSilent/together)
	if c.Waits {
		sure *= 2
	}
	c.Doubt = 1 - sure
	if !c.Unread {
		c.FedBy = h.together(c, func(o *SilentCable) bool { return o.Unread })
	}
}

// jobEnded reports whether a job whose exchange can use a cable ended as the cable fell silent.
func (h *History) jobEnded(c *SilentCable) bool {
	for _, j := range h.jobs.all() {
		if j.End == 0 || len(j.Devices) == 0 {
			continue
		}
		if at := h.Clock.SlotOf(int64(j.End)); at < c.since-2 || at > c.since {
			continue
		}
		links := h.RoutesOf(j).Links
		if slices.ContainsFunc(c.Links, func(l schema.LinkID) bool {
			_, on := slices.BinarySearch(links, l)
			return on
		}) {
			return true
		}
	}
	return false
}

// waitsMore reports whether a link stalls that did not before a slot.
func (h *History) waitsMore(l schema.LinkID, since int64) bool {
	for m := range schema.NumMetrics {
		levels := h.memory.metrics[m]
		if levels == nil || !schema.Metric(m).IsStall() {
			continue
		}
		if now := levels.at(h.Clock.Now, l); now >= schema.LowPercent && now >= 2*levels.at(since-2, l) {
			return true
		}
	}
	return false
}

// FellSilent reports whether a switch gave load readings within the window, but none in this interval.
func (h *History) FellSilent(device string) bool {
	use := h.memory.metrics[schema.BandwidthUsed]
	d, known := h.graph.FindDevice(device)
	if use == nil || !known || h.graph.Duplex() || !h.graph.IsSwitch(d) {
		return false
	}
	var out []schema.LinkID
	for _, l := range h.graph.LinksAt(d) {
		if from, _ := h.graph.Ends(l); from == d {
			out = append(out, l)
		}
	}
	for slot := h.Clock.Now; slot >= h.oldest(use); slot-- {
		if !IsMissing(use.Mean(slot, out)) {
			return slot < h.Clock.Now
		}
	}
	return false
}
