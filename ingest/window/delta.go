package window

import "github.com/giverny/giverny/schema"

const (
	// tolerance is how far a value may exceed what is possible, for clocks that
	// jitter, before it is no value.
	tolerance = 1.1
	// smallestPacketBytes bounds how many packets a link can carry.
	smallestPacketBytes = 64
)

// delta is by how much a counter rose from reading a to reading b of the same port,
// b being the later, or why that cannot be known. A counter that wraps is taken
// to have wrapped once, if a link can do so much in that time; otherwise it
// was reset.
func (w *Window) delta(t *track, p uint32, a, b reading) (delta float64, fault Reason) {
	full := t.info.MaxValue()
	switch sticks := t.info.Overflow == schema.Saturates; {
	case b.nanos-a.nanos > w.maxGapNanos:
		return 0, Gap
	case sticks && max(a.value, b.value) >= full:
		return 0, Saturated
	case b.value >= a.value:
		return float64(b.value - a.value), sound
	case sticks || t.info.Width >= 64:
		return 0, Reset
	}
	wrapped := float64((b.value - a.value) & full)
	if wrapped > w.mostPossible(t, p, b.nanos-a.nanos) {
		return 0, Reset
	}
	return wrapped, sound
}

// mostPossible is how far a counter can rise in a time. Where the capacity of the
// link is not known, or says little because packets are large or are not lost
// all the time, that is half its width: if it went further, it is as likely to
// have been reset.
func (w *Window) mostPossible(t *track, p uint32, nanos int64) float64 {
	half := float64(t.info.MaxValue()) / 2
	unit := w.unitOf(t, p)
	if t.info.Metric.Unit() == schema.Percent {
		if unit == 0 {
			return half
		}
		return tolerance * float64(nanos) / unit
	}
	link := w.ports.links(t.info.Side)[p]
	if link == schema.NoLink {
		return half
	}
	bytes := tolerance * w.ports.graph.Link(link).CapacityBytesPerSecond * float64(nanos) / 1e9
	switch {
	case bytes == 0:
		return half
	case t.info.Metric.Unit() == schema.BytesPerSecond:
		return bytes / unit
	}
	return min(half, bytes/smallestPacketBytes)
}

// unitOf is what one count of a counter stands for: nanoseconds, bytes or
// packets; for a gauge or derived percentage, percent. 0 if it is not known.
func (w *Window) unitOf(t *track, p uint32) float64 {
	switch t.info.Unit {
	case schema.Words4:
		return 4
	case schema.Microseconds:
		return 1e3
	case schema.Seconds:
		return 1e9
	case schema.PercentE6:
		return 1e-6
	case schema.Ticks:
		return w.tickNanos(p)
	}
	return 1
}

func (w *Window) tickNanos(p uint32) float64 {
	if w.ticks != nil && w.ticks[p] != 0 {
		return float64(w.ticks[p]) / 1e3
	}
	return float64(w.cfg.TickPicoseconds) / 1e3
}

// perNano turns counts per nanosecond, in terms of unitOf, into the metric's unit.
func perNano(m schema.Metric) float64 {
	if m.Unit() == schema.Percent {
		return 100
	}
	return 1e9
}
