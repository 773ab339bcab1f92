package diagnose

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// failure is a row of the F table (Monet, section 7) with its place in the fabric.
type failure struct {
	schema.Failure
	devices []topology.DeviceID // at either end of the failed part; empty: unknown, or the whole fabric
	links   []schema.LinkID     // that failed, or came back
	outages                     // of the part so far
}

// maxFailures bounds the failures kept; the oldest are dropped first.
const maxFailures = 4096

// takeFailures adds new failures in order of time, deduplicated, and drops those older than the window.
// Congestion protection is a reaction, not a cause: package mitigation keeps it.
func (h *History) takeFailures(in []schema.Failure) {
	known := make(map[schema.Failure]bool, len(h.failures))
	if len(in) > 0 {
		for i := range h.failures {
			known[h.failures[i].Failure] = true
		}
	}
	for _, one := range in {
		if one.Kind == schema.Throttled || known[one] { // feeds deliver at least once
			continue
		}
		known[one] = true
		f := failure{Failure: one}
		f.place(h.graph)
		h.failures = append(h.failures, f)
	}
	slices.SortStableFunc(h.failures, func(a, b failure) int { return cmp.Compare(a.Time, b.Time) })
	oldest := schema.Instant((h.clock.now - int64(h.limits.Window)) * h.clock.duration)
	first := 0
	for first < len(h.failures) && (h.failures[first].Time < oldest || len(h.failures)-first > maxFailures) {
		first++
	}
	if len(in) > 0 {
		h.countOutages()
	}
	h.failures = slices.Delete(h.failures, 0, first)
}

// place finds what failed in the fabric: the links of the port, or all of the device.
func (f *failure) place(g *topology.Graph) {
	f.devices, f.links = nil, nil
	d, known := g.FindDevice(f.Device)
	if !known {
		return
	}
	f.devices = []topology.DeviceID{d}
	if f.Port == "" {
		f.links = slices.Clone(g.LinksAt(d))
		return
	}
	port, _ := g.PortAt(d, f.Port)
	for _, l := range [2]schema.LinkID{port.Egress, port.Ingress} {
		if l == schema.NoLink || slices.Contains(f.links, l) {
			continue
		}
		f.links = append(f.links, l)
		from, to := g.Ends(l)
		f.devices = append(f.devices, from, to)
	}
	slices.Sort(f.devices)
	f.devices = slices.Compact(f.devices)
}

// broke reports whether something failed, rather than came back.
func (f *failure) broke() bool {
	switch f.Kind {
	case schema.LinkRestored, schema.SwitchRestored, schema.NodeRestored:
		return false
	}
	return true
}

// idleIntervals before a failure show whether the failed part carried anything.
const idleIntervals = 5

// noLoad, percent of capacity, is noise.
const noLoad = 2

// wasIdle reports whether the failed links carried nothing before, as far as measured: then no traffic was rerouted.
func (h *History) wasIdle(f *failure) bool {
	use, at, measured := h.memory.metrics[schema.BandwidthUsed], h.clock.slotOf(int64(f.Time)), false
	if use == nil {
		return false
	}
	for slot := max(at-idleIntervals, h.oldest(use)); slot < at; slot++ {
		for i := range f.links {
			switch m := use.mean(slot, f.links[i:i+1]); {
			case isMissing(m):
			case m >= noLoad:
				return false
			default:
				measured = true
			}
		}
	}
	return measured
}

// logged moves the failures that explain why a link carries less to the front: of the link itself, or of one next to it
// that fed it, if that failed when the region began. It returns how many of them are listed.
func (s *Stage) logged(rc *regionCase, lost schema.LinkID) int {
	if lost == schema.NoLink {
		return 0
	}
	from, to := s.graph.Ends(lost)
	rank := func(f *nearFailure) int {
		switch {
		case !f.broke() || f.restored || f.silent != nil:
			return 3
		case slices.Contains(f.links, lost):
			return 0
		case s.history.passesNothing(f.failure) || s.history.wasIdle(f.failure):
			return 3
		case slices.Contains(f.devices, from) || slices.Contains(f.devices, to):
			return 1
		case f.score > 0 && slices.ContainsFunc(f.devices, func(d topology.DeviceID) bool { return s.history.adjacent(d, from) || s.history.adjacent(d, to) }):
			return 2
		}
		return 3
	}
	slices.SortStableFunc(rc.failures, func(a, b nearFailure) int { return cmp.Compare(rank(&a), rank(&b)) })
	n := 0
	for n < min(len(rc.failures), s.cfg.MaxListed) && rank(&rc.failures[n]) == rank(&rc.failures[0]) && rank(&rc.failures[n]) < 3 {
		n++
	}
	return n
}

// findRestored finds the failures near a region whose part came back long enough ago for its traffic to be back, too.
func (s *Stage) findRestored(rc *regionCase) {
	back := map[part]schema.Instant{} // when it came back last
	for i := range rc.failures {
		if f := &rc.failures[i]; !f.broke() && s.history.clock.now-s.history.clock.slotOf(int64(f.Time)) > settle {
			back[f.part()] = max(back[f.part()], f.Time)
		}
	}
	if len(back) == 0 {
		return
	}
	for i := range rc.failures {
		f := &rc.failures[i]
		at, came := back[f.part()]
		f.restored = f.broke() && came && at >= f.Time
		f.over = f.restored && s.graph.Duplex() && !s.work.loads
	}
}

// adjacent reports whether a link joins two devices.
func (h *History) adjacent(a, b topology.DeviceID) bool {
	return slices.ContainsFunc(h.graph.LinksAt(a), func(l schema.LinkID) bool {
		from, to := h.graph.Ends(l)
		return from == b || to == b
	})
}

// CameBack reports whether the last that is remembered of a part is that it came back after an instant; if it flaps, longer ago than a
// pause, in intervals.
func (h *History) CameBack(device, port string, since schema.Instant, pause int64) bool {
	failed := failure{Failure: schema.Failure{Device: device, Port: port}}
	failed.place(h.graph)
	part := failed.part()
	for i := len(h.failures) - 1; i >= 0; i-- {
		if f := &h.failures[i]; f.part() == part {
			return !f.broke() && f.Time > since && (f.times < 2 || h.clock.now-h.clock.slotOf(int64(f.Time)) > pause)
		}
	}
	return false
}
