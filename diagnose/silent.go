package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// silent is a cable between switches that carried traffic and now carries nothing in either direction, while its sources
// have more to send: it is dead, whether or not a log reports it. A slow link still carries something.
type silent struct {
	failure
	since  int64   // first slot in which it carries nothing
	waits  bool    // traffic waits before a switch at its end that did not wait before
	unread bool    // its ports give no readings, but others of its switches do: dead ports of some devices give none
	doubt  float64 // 0 to 1: that its traffic ended instead
	logged bool    // a log reports it
	fedBy  int     // index of the silent cable that fed it, whose counters stopped with it; -1: none
}

const (
	// silentLevel is the highest load of a link that carries nothing, in levels (.6%): management packets, and packets in
	// flight when it died.
	silentLevel = 1
	// usedBack is the least load of a cable's less loaded direction before it died, percent of capacity: one-way traffic that
	// pauses or is held back elsewhere is more common than a dead cable.
	usedBack = 1
	// fewSilent cables may die together; if more fall silent at the same time, a job has ended.
	fewSilent = 4
	// leastSilent silent cables of a switch, if all that carried anything, mean a dead switch.
	leastSilent = 3
	// silentDoubt is the score that full doubt takes from a cable.
	silentDoubt = 4.
)

// findSilent lists the cables that are dead by their counters. None on a grid, where one reading stands for both directions:
// there a congestion tree holds up the senders of many links, which then have nothing to send.
func (h *History) findSilent() {
	h.silent = h.silent[:0]
	use := h.memory.metrics[schema.BandwidthUsed]
	if use == nil || h.graph.Duplex() {
		return
	}
	quiet := h.hushed[:0]
	for l := range schema.LinkID(h.graph.NumLinks()) {
		if back := h.backOf(l); h.betweenSwitches(l) && (back == schema.NoLink || l < back) && h.quiet(use, l, back) {
			quiet = append(quiet, l)
		}
	}
	h.hushed = quiet
	oldest := h.oldest(use)
	for slot := h.clock.now - 1; slot >= oldest && len(quiet) > 0; slot-- {
		row, left := use.row(slot), quiet[:0]
		for _, l := range quiet {
			back := h.backOf(l)
			if !carries(row, l) && !carries(row, back) {
				left = append(left, l)
			} else if a, b := h.carried(use, l, slot), h.carried(use, back, slot); max(a, b) >= root.LeastUse && (back == schema.NoLink || min(a, b) >= usedBack || !h.readNow(use, l, back)) {
				h.addSilent(l, slot+1, !h.readNow(use, l, back))
			}
		}
		quiet = left
	}
	h.joinSilent(use)
	h.silent = slices.DeleteFunc(h.silent, func(c silent) bool { // a single reading may be lost
		return c.unread && c.since == h.clock.now && h.together(&c, func(o *silent) bool { return !o.unread }) < 0
	})
	for i := range h.silent {
		h.askDemand(&h.silent[i])
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

// betweenSwitches reports whether a link joins two switches.
func (h *History) betweenSwitches(l schema.LinkID) bool {
	from, to := h.graph.Ends(l)
	return h.graph.IsSwitch(from) && h.graph.IsSwitch(to)
}

// carries reports whether a link carried anything in a slot.
func carries(row []uint8, l schema.LinkID) bool {
	return l != schema.NoLink && row[l] != levelMissing && row[l] > silentLevel
}

// readNow reports whether a direction of a cable was read in this interval.
func (h *History) readNow(use *levels, l, back schema.LinkID) bool {
	row := use.row(h.clock.now)
	return row[l] != levelMissing || back != schema.NoLink && row[back] != levelMissing
}

// quiet reports whether a cable carries nothing in this interval: neither direction shows load, and if neither was read,
// both of its switches have other readings.
func (h *History) quiet(use *levels, l, back schema.LinkID) bool {
	row := use.row(h.clock.now)
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
		return row[l] != levelMissing && (from == d || h.graph.Duplex())
	})
}

// fellWith reports whether two cables fell silent together: in the same interval or one apart, as a cable may
// have carried enough in the interval in which it died.
func (c *silent) fellWith(o *silent) bool { return max(o.since-c.since, c.since-o.since) <= 1 }

// together is the index of a cable that satisfies some and fell silent together with c; -1: none.
func (h *History) together(c *silent, some func(*silent) bool) int {
	return slices.IndexFunc(h.silent, func(o silent) bool { return o.fellWith(c) && some(&o) })
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
	c := silent{since: since, unread: unread, failure: failure{Failure: schema.Failure{Fabric: h.graph.Fabric(), Time: schema.Instant(since * h.clock.duration),
		Kind: schema.LinkDownSuspected, Device: key.Device, Port: key.Port}}}
	c.place(h.graph)
	for i := range h.failures {
		f := &h.failures[i]
		if f.broke() && slices.ContainsFunc(f.links, func(l schema.LinkID) bool { return slices.Contains(c.links, l) }) && !h.over(f) {
			c.logged = true
		}
	}
	h.silent = append(h.silent, c)
}

// over reports whether a log says that the failed part came back.
func (h *History) over(f *failure) bool {
	return slices.ContainsFunc(h.failures, func(o failure) bool {
		return !o.broke() && o.Device == f.Device && o.Port == f.Port && o.Time >= f.Time
	})
}

// joinSilent merges cables of a switch that fell silent together into a dead switch if no other cable of it has traffic.
func (h *History) joinSilent(use *levels) {
	for i := 0; i < len(h.silent); i++ {
		c := &h.silent[i]
		if c.Port == "" || c.logged {
			continue
		}
		for _, d := range c.devices {
			n := 0
			of := func(o silent) bool {
				return o.Port != "" && !o.logged && slices.Contains(o.devices, d) && o.fellWith(c)
			}
			for j := range h.silent {
				if of(h.silent[j]) {
					n++
				}
			}
			if n < leastSilent || h.talks(use, d) {
				continue
			}
			whole := silent{since: c.since, failure: failure{Failure: c.Failure}}
			whole.Kind, whole.Device, whole.Port = schema.SwitchDownSuspected, h.graph.Device(d).Name, ""
			h.silent = append(slices.DeleteFunc(h.silent, of), whole)
			h.silent[len(h.silent)-1].place(h.graph)
			i = -1 // restart
			break
		}
	}
}

// talks reports whether a switch shows that it is alive: one of its links carries something or, where links have directions,
// its own counters are read.
func (h *History) talks(use *levels, d topology.DeviceID) bool {
	row := use.row(h.clock.now)
	return slices.ContainsFunc(h.graph.LinksAt(d), func(l schema.LinkID) bool {
		from, _ := h.graph.Ends(l)
		return carries(row, l) || !h.graph.Duplex() && from == d && row[l] != levelMissing
	})
}

// askDemand finds whether the load of a cable is still to be sent: traffic waits at its ends that did not wait before. If not, or if
// many cables fell silent at the same time, the traffic may have ended.
func (h *History) askDemand(c *silent) {
	if c.fedBy = -1; h.jobEnded(c) || h.together(c, func(o *silent) bool { return o.logged }) >= 0 { // fed by the logged one
		c.doubt = 1
		return
	}
	for _, d := range c.devices {
		for _, l := range h.graph.LinksAt(d) {
			if _, to := h.graph.Ends(l); to == d || h.graph.Duplex() {
				c.waits = c.waits || h.waitsMore(l, c.since)
			}
		}
	}
	together := 0.
	h.together(c, func(*silent) bool { together++; return false })
	sure := .5 * min(1, fewSilent/together)
	if c.waits {
		sure *= 2
	}
	c.doubt = 1 - sure
	if !c.unread {
		c.fedBy = h.together(c, func(o *silent) bool { return o.unread })
	}
}

// jobEnded reports whether a job whose exchange can use a cable ended as the cable fell silent.
func (h *History) jobEnded(c *silent) bool {
	for _, j := range h.jobs.all() {
		if j.End == 0 || len(j.devices) == 0 {
			continue
		}
		if at := h.clock.slotOf(int64(j.End)); at < c.since-2 || at > c.since {
			continue
		}
		if r := h.RoutesOf(j); slices.ContainsFunc(c.links, func(l schema.LinkID) bool { _, on := slices.BinarySearch(r.Links, l); return on }) {
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
		if now := levels.at(h.clock.now, l); now >= schema.LowPercent && now >= 2*levels.at(since-2, l) {
			return true
		}
	}
	return false
}
