package history

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// BetweenSwitches reports whether a link joins two switches.
func (h *History) BetweenSwitches(l schema.LinkID) bool {
	from, to := h.graph.Ends(l)
	return h.graph.IsSwitch(from) && h.graph.IsSwitch(to)
}

// Adjacent reports whether a link joins two devices.
func (h *History) Adjacent(a, b topology.DeviceID) bool {
	return slices.ContainsFunc(h.graph.LinksAt(a), func(l schema.LinkID) bool {
		from, to := h.graph.Ends(l)
		return from == b || to == b
	})
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
