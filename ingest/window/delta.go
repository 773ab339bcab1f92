package window

import "github.com/giverny/giverny/schema"

const (
	// tolerance is how far a value may exceed the possible maximum, because of
	// clock jitter, before it is rejected.
	tolerance = 1.1
	// smallestPacketBytes limits how many packets a link can carry.
	smallestPacketBytes = 64
)

// delta returns by how much a counter rose from reading a to the later reading b of
// the same port, or why that is unknown. A counter that went down is taken to have
// wrapped once if the link can do that much in the time; otherwise it was reset.
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

// mostPossible is how far a counter can rise in a time. If the capacity of the
// link is unknown, or a weak limit because packets are large or are not lost all
// the time, that is half the counter's range: beyond it, a reset is as likely as
// a wrap.
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

// unitOf is the value of one count of a counter in nanoseconds, bytes or
// packets; for a gauge or derived percentage, in percent. 0 if unknown.
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

// perNano converts counts per nanosecond, in units of unitOf, to the metric's unit.
func perNano(m schema.Metric) float64 {
	if m.Unit() == schema.Percent {
		return 100
	}
	return 1e9
}
