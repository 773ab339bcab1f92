package window

import "github.com/giverny/giverny/schema"

const (
	// tolerance is how far a value may exceed the possible maximum, because of
	// clock jitter, before it is rejected.
	tolerance = 1.1
	// smallestPacketBytes limits how many packets a link can carry.
	smallestPacketBytes = 64
	// beyondCapacity is how many times what its link can carry a counter may rise, before that is no value: the
	// capacity may be one that the description of the fabric leaves out, and faster than was assumed.
	beyondCapacity = 16
)

// fall is when a counter of a port fell without having wrapped, and the value that it fell from.
type fall struct {
	nanos int64
	from  uint64
}

// delta returns by how much a counter rose from reading a to the later reading b of
// the same port, or why that is unknown. A counter that went down is taken to have
// wrapped once if the link can do that much in the time; otherwise it was reset. If it
// then rises to its value before the fall or higher, the fall was no reset: some devices
// report zero, or an older value, now and then. How far it rose is unknown then. Falls
// are noted in the track, so the differences of a port must come in order of time.
func (w *Window) delta(t *track, p uint32, a, b reading) (delta float64, fault Reason) {
	full := t.info.MaxValue()
	switch sticks := t.info.Overflow == schema.Saturates; {
	case b.nanos-a.nanos > w.maxGapNanos:
		return 0, Gap
	case sticks && max(a.value, b.value) >= full:
		return 0, Saturated
	case b.value == a.value:
		t.stays(p, a, b)
		return 0, sound
	case b.value > a.value:
		if t.fellTo(p, a) && b.value >= t.falls[p].from {
			return 0, Reset
		}
		rise, nanos := float64(b.value-a.value), b.nanos-a.nanos
		// Less is plausible on every link, for packets as for bytes; most differences end here.
		if rise > beyondCapacity*w.ports.slowest/smallestPacketBytes*float64(nanos)/1e9 {
			if most := w.carried(t, p, nanos); most > 0 && rise > beyondCapacity*most {
				return 0, Implausible
			}
		}
		return rise, sound
	case sticks || t.info.Width >= 64:
		t.fell(p, a, b)
		return 0, Reset
	}
	wrapped := float64((b.value - a.value) & full)
	if wrapped > w.mostPossible(t, p, b.nanos-a.nanos) {
		t.fell(p, a, b)
		return 0, Reset
	}
	return wrapped, sound
}

// fell notes that a counter fell from reading a to reading b.
func (t *track) fell(p uint32, a, b reading) {
	if t.falls == nil {
		t.falls = make([]fall, len(t.held))
	}
	t.falls[p] = fall{b.nanos, a.value}
}

// fellTo says whether a reading is that to which a counter fell.
func (t *track) fellTo(p uint32, a reading) bool {
	return t.falls != nil && t.falls[p].from > 0 && t.falls[p].nanos == a.nanos
}

// stays keeps the fall of a counter in mind while it stays where it fell.
func (t *track) stays(p uint32, a, b reading) {
	if t.fellTo(p, a) {
		t.falls[p].nanos = b.nanos
	}
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
	most := tolerance * w.carried(t, p, nanos)
	switch {
	case most == 0:
		return half
	case t.info.Metric.Unit() == schema.BytesPerSecond:
		return most
	}
	return min(half, most)
}

// carried is how far the link's capacity lets a counter of bytes or packets rise in a time; 0: that is not known.
func (w *Window) carried(t *track, p uint32, nanos int64) float64 {
	link := w.ports.links(t.info.Side)[p]
	if link == schema.NoLink || t.info.Metric.Unit() == schema.Percent {
		return 0
	}
	bytes := w.ports.graph.Link(link).CapacityBytesPerSecond * float64(nanos) / 1e9
	if t.info.Metric.Unit() == schema.BytesPerSecond {
		return bytes / w.unitOf(t, p)
	}
	return bytes / smallestPacketBytes
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
