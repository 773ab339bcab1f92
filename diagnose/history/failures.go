package history

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// PlacedFailure is a row of the F table (Monet, section 7) with its place in the fabric.
type PlacedFailure struct {
	schema.Failure
	Devices []topology.DeviceID // at either end of the failed part; empty: unknown, or the whole fabric
	Links   []schema.LinkID     // that failed, or came back
	outages                     // of the part so far
}

// maxFailures bounds the failures kept; the oldest are dropped first.
const maxFailures = 4096

// AddFailures adds new failures in order of time, deduplicated, and drops those older than the window.
// Congestion protection is a reaction, not a cause: package mitigation keeps it.
func (h *History) AddFailures(in []schema.Failure) {
	known := make(map[schema.Failure]bool, len(h.Failures))
	if len(in) > 0 {
		for i := range h.Failures {
			known[h.Failures[i].Failure] = true
		}
	}
	for _, one := range in {
		if one.Kind == schema.Throttled || known[one] { // feeds deliver at least once
			continue
		}
		known[one] = true
		f := PlacedFailure{Failure: one}
		f.Place(h.graph)
		h.Failures = append(h.Failures, f)
	}
	slices.SortStableFunc(h.Failures, func(a, b PlacedFailure) int { return cmp.Compare(a.Time, b.Time) })
	oldest := schema.Instant((h.Clock.Now - int64(h.Limits.Window)) * h.Clock.Duration)
	first := 0
	for first < len(h.Failures) && (h.Failures[first].Time < oldest || len(h.Failures)-first > maxFailures) {
		first++
	}
	if len(in) > 0 {
		h.countOutages()
	}
	h.Failures = slices.Delete(h.Failures, 0, first)
}

// Place finds what failed in the fabric: the links of the port, or all of the device.
func (f *PlacedFailure) Place(g *topology.Graph) {
	f.Devices, f.Links = nil, nil
	d, known := g.FindDevice(f.Device)
	if !known {
		return
	}
	f.Devices = []topology.DeviceID{d}
	if f.Port == "" {
		f.Links = slices.Clone(g.LinksAt(d))
		return
	}
	port, _ := g.PortAt(d, f.Port)
	for _, l := range [2]schema.LinkID{port.Egress, port.Ingress} {
		if l == schema.NoLink || slices.Contains(f.Links, l) {
			continue
		}
		f.Links = append(f.Links, l)
		from, to := g.Ends(l)
		f.Devices = append(f.Devices, from, to)
	}
	slices.Sort(f.Devices)
	f.Devices = slices.Compact(f.Devices)
}

// Broke reports whether something failed, rather than came back.
func (f *PlacedFailure) Broke() bool {
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

// WasIdle reports whether the failed links carried nothing before, as far as measured: then no traffic was rerouted.
func (h *History) WasIdle(f *PlacedFailure) bool {
	use, at, measured := h.memory.metrics[schema.BandwidthUsed], h.Clock.SlotOf(int64(f.Time)), false
	if use == nil {
		return false
	}
	for slot := max(at-idleIntervals, h.oldest(use)); slot < at; slot++ {
		for i := range f.Links {
			switch m := use.Mean(slot, f.Links[i:i+1]); {
			case IsMissing(m):
			case m >= noLoad:
				return false
			default:
				measured = true
			}
		}
	}
	return measured
}

// CameBack reports whether the last that is remembered of a part is that it came back after an instant; if it flaps,
// longer ago than a pause, in intervals.
func (h *History) CameBack(device, port string, since schema.Instant, pause int64) bool {
	failed := PlacedFailure{Failure: schema.Failure{Device: device, Port: port}}
	failed.Place(h.graph)
	part := failed.Part()
	for i := len(h.Failures) - 1; i >= 0; i-- {
		if f := &h.Failures[i]; f.Part() == part {
			return !f.Broke() && f.Time > since && (f.Times < 2 || h.Clock.Now-h.Clock.SlotOf(int64(f.Time)) > pause)
		}
	}
	return false
}

// LastUse is a link's load in the two intervals before a failure, percent of its capacity; -1 if it is not
// remembered. Unlike the load before the region's onset, it has that of jobs that began since.
func (h *History) LastUse(f *PlacedFailure, l schema.LinkID) float64 {
	use, slot := h.memory.metrics[schema.BandwidthUsed], h.Clock.SlotOf(int64(f.Time))
	if use == nil {
		return -1
	}
	return use.over(max(slot-2, h.oldest(use)), slot-1, l)
}

// PassesNothing reports whether the failed part carries no traffic of others.
func (h *History) PassesNothing(f *PlacedFailure) bool {
	if f.Kind == schema.NodeFailed || f.Kind == schema.NodeRestored {
		return true
	}
	for _, d := range f.Devices {
		if !h.graph.IsSwitch(d) {
			return f.Port != "" || len(f.Devices) == 1
		}
	}
	return false
}
