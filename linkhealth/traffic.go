package linkhealth

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// flow is what an interval's values say about the traffic of a cable, in either direction. A device that does not report
// measures nothing, so that the values of its cables are those of its neighbours.
type flow uint8

const (
	unmeasured flow = iota
	idle
	flowing
)

// loads are the metrics of traffic, the best first, with what a link carries at most that nothing is sent over: link-layer
// discovery and management packets, which a port sends to a neighbour that hangs, too.
var loads = [...]struct {
	metric schema.Metric
	idle   float32
}{{schema.Throughput, 1000}, {schema.BandwidthUsed, .01}, {schema.PacketRate, 10}}

// waitsForever is the stall, percent of time, from which a port waits for the whole interval, as before a neighbour that
// hangs. Less shows that the neighbour returns credits, or pauses the port only for a time.
const waitsForever = 95

// measure finds the traffic of every cable, and remembers which cables carried some while both devices reported.
func (m *Monitor) measure(snap *schema.Snapshot) {
	for i := range m.flows {
		m.flows[i] = unmeasured
		c := &m.layout.cables[i]
		m.flows[i] = flowOf(snap, c.link)
		if c.back != schema.NoLink {
			m.flows[i] = max(m.flows[i], flowOf(snap, c.back))
		}
	}
}

// flowOf is the traffic of a link by the best metric that has a value of it. Without one a stall shows that something is sent.
func flowOf(snap *schema.Snapshot, l schema.LinkID) flow {
	for _, load := range loads {
		if s := snap.Find(load.metric); s != nil && s.Valid.Has(int(l)) {
			if s.Values[l] > load.idle {
				return flowing
			}
			return idle
		}
	}
	for i := range snap.Series {
		if s := &snap.Series[i]; s.Metric.IsStall() && s.Valid.Has(int(l)) && s.Values[l] > 0 && s.Values[l] < waitsForever {
			return flowing
		}
	}
	return unmeasured
}

// remember notes which cables carry traffic while both of their devices report.
func (m *Monitor) remember() {
	for i, f := range m.flows {
		if c := &m.layout.cables[i]; f != unmeasured && !m.covered(c.ends[0]) && !m.covered(c.ends[1]) {
			m.used[i] = f == flowing
		}
	}
}

// byTraffic is the verdict on a device that does not answer by the traffic that its neighbours measure on its cables, of
// those that carried some before or carry some now: it works if most of them do. It is dead if not, unless its neighbours' other
// cables carry nothing any more either: then a job may have ended.
func (m *Monitor) byTraffic(d topology.DeviceID) verdict {
	carried, now := 0, 0
	for _, end := range m.layout.at[d] {
		switch f := m.flows[end/2]; {
		case f == flowing:
			carried, now = carried+1, now+1
		case f == idle && m.used[end/2]:
			carried++
		}
	}
	switch {
	case carried == 0:
		return isMissing
	case 2*now >= carried:
		return isSilent
	case m.neighboursSend(d):
		return isIdle
	}
	return isMissing
}

// neighboursSend reports whether the other cables of a device's neighbours carry traffic.
func (m *Monitor) neighboursSend(d topology.DeviceID) bool {
	for _, end := range m.layout.at[d] {
		for _, other := range m.layout.at[m.layout.device(far(end))] {
			if m.layout.device(far(other)) != d && m.flows[other/2] == flowing {
				return true
			}
		}
	}
	return false
}
