package simulated

import (
	"fmt"
	"slices"

	"github.com/giverny/giverny/hostping"
)

// Fault is one bottleneck at a place. The bottleneck determines which fields are used.
type Fault struct {
	Bottleneck hostping.Bottleneck
	Link       string  // for 1 to 6, 11 and 12; for 7 the switch's uplink, empty: the whole host
	RNIC       string  // for 8 to 10
	Share      float64 // for 1 to 6, 10 to 12: remaining share of the RNICs' line rate
	LineGbps   float64 // the line rate that Share refers to

	FirstGbps, DoublingMicros float64 // for 9

	Used      float64 // for 11 and 12: utilisation of the link
	Processes []hostping.Consumer
}

// Inject adds a fault.
func (h *Host) Inject(f Fault) {
	f.LineGbps = h.cfg.LineGbps
	h.faults = append(h.faults, f)
}

// queueMicros is the delay of the queue at an overloaded link.
const queueMicros = 0.4

// onLink modifies the capacity and the latency of a link.
func (f *Fault) onLink(link string, capacity, latency float64) (float64, float64) {
	if f.Link != link || f.Share == 0 {
		return capacity, latency
	}
	switch f.Bottleneck {
	case hostping.InterSocketOverloaded, hostping.MemoryChannelOverloaded:
		latency += queueMicros
	}
	return min(capacity, f.Share*f.LineGbps), latency
}

// detours reports whether a pair's GPU traffic goes through the root complex unnecessarily.
func (f *Fault) detours(h *Host, pair hostping.Pair, links []string) bool {
	switch f.Bottleneck {
	case hostping.ATSDisabled:
		return f.RNIC == pair.RNIC
	case hostping.ACSEnabled:
		if f.Link == "" {
			return true
		}
		// Below the switch with this uplink: a path to memory passes the uplink.
		return slices.ContainsFunc(h.graph.Paths, func(p hostping.Path) bool {
			return p.RNIC == pair.RNIC && h.kinds[p.Links[len(p.Links)-1]] == hostping.Memory && slices.Contains(p.Links, f.Link)
		}) && !h.crosses(links)
	}
	return false
}

// use adds the counters of an overload.
func (f *Fault) use(u *hostping.Utilisation) {
	if f.Used == 0 {
		return
	}
	u.Links[f.Link] = f.Used
	for _, c := range f.Processes {
		u.Processes = append(u.Processes, hostping.Process{PID: c.PID, Name: c.Name, Links: map[string]float64{f.Link: c.Share}})
	}
}

// NewFault makes a fault at a place: a link's id, or an RNIC for ATS, slow start and the Tx window. For ACS the place
// is a switch's uplink, empty for the whole host. share is the remaining share of the line rate or, for overloads, the
// used share of the link.
func NewFault(g *hostping.Graph, b hostping.Bottleneck, place string, share float64) (Fault, error) {
	f := Fault{Bottleneck: b, Share: share}
	isLink := slices.ContainsFunc(g.Links, func(l hostping.Link) bool { return l.ID == place })
	switch b {
	case hostping.ATSDisabled, hostping.RNICSlowStart, hostping.TxWindowTooSmall:
		if !slices.ContainsFunc(g.RNICs, func(r hostping.RNIC) bool { return r.ID == place }) {
			return f, fmt.Errorf("the host has no RNIC %q", place)
		}
		f.RNIC, f.FirstGbps, f.DoublingMicros = place, 5, 20
		return f, nil
	case hostping.ACSEnabled:
		if place != "" && !isLink {
			return f, fmt.Errorf("the host has no link %q", place)
		}
	case hostping.InterSocketOverloaded, hostping.MemoryChannelOverloaded:
		f.Used, f.Share = share, max(0.05, 4*(1-share))
		f.Processes = []hostping.Consumer{{PID: 4711, Name: "trainer", Share: 0.7 * share}, {PID: 17, Name: "copy", Share: 0.2 * share}}
		fallthrough
	case hostping.RNICPCIeFailure, hostping.GPUPCIeFailure, hostping.MemoryChannelFailure, hostping.InterSocketFailure, hostping.RootPortFailure, hostping.MemoryChannelFlapping:
		if !isLink {
			return f, fmt.Errorf("the host has no link %q; giverny hostping graph lists them", place)
		}
	default:
		return f, fmt.Errorf("%q is not a bottleneck; want one of %v", b, hostping.Bottlenecks())
	}
	f.Link = place
	return f, nil
}
