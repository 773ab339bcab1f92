package simulated

import (
	"slices"

	"github.com/giverny/giverny/hostping"
)

// Fault is one bottleneck somewhere. Which fields count depends on it.
type Fault struct {
	Bottleneck hostping.Bottleneck
	Link       string  // of 1 to 6, 11 and 12; of 7 the switch's uplink, empty for the whole host
	RNIC       string  // of 8 to 10
	Share      float64 // 1 to 6, 10 to 12: what is left, of the RNICs' line rate
	LineGbps   float64 // that Share is of

	FirstGbps, DoublingMicros float64 // of 9

	Used      float64 // of 11 and 12: utilisation of the link
	Processes []hostping.Consumer
}

// Inject adds a fault.
func (h *Host) Inject(f Fault) {
	f.LineGbps = h.cfg.LineGbps
	h.faults = append(h.faults, f)
}

// queueMicros is what a queue in front of an overloaded link adds.
const queueMicros = 0.4

// onLink changes the capacity and the latency of a link.
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

// detours is whether GPU traffic of a pair goes through the root complex though it need not.
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

// use adds what counters say of an overload.
func (f *Fault) use(u *hostping.Utilisation) {
	if f.Used == 0 {
		return
	}
	u.Links[f.Link] = f.Used
	for _, c := range f.Processes {
		u.Processes = append(u.Processes, hostping.Process{PID: c.PID, Name: c.Name, Links: map[string]float64{f.Link: c.Share}})
	}
}
