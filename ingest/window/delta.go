package window

import (
	"math"

	"github.com/giverny/giverny/schema"
)

const (
	// tolerance is how far a value may exceed the possible maximum, because of
	// clock jitter, before it is rejected.
	tolerance = 1.1
	// smallestPacketBytes limits how many packets a link can carry.
	smallestPacketBytes = 64
	// beyondCapacity limits a counter's rise, as a multiple of what its link can carry. The limit is loose, as the
	// capacity may be an assumption where the fabric's description has none, and the link may be faster.
	beyondCapacity = 16
	// narrowFull is where a counter stays if its source has 32 bits of it, but reports it by the name of a wider one, as
	// an exporter does that reads the kernel's port_xmit_wait. A wider counter is exactly there once in 2^32 readings.
	narrowFull = math.MaxUint32
)

// fall is when a port's counter fell without wrapping, and the value it fell from.
type fall struct {
	nanos int64
	from  uint64
}

// delta returns by how much a counter rose from reading a to the later reading b of
// the same port, or why that is unknown. A counter that fell is taken to have wrapped
// once if the link can carry that much in the time; otherwise it was reset. If it then
// rises to its value before the fall or higher, it was no reset: some devices
// occasionally report zero or an older value. Then the rise is unknown. Falls are
// recorded in the track, so delta must be called in order of time for each port.
func (w *Window) delta(t *track, p uint32, a, b reading) (delta float64, fault Reason) {
	full := t.info.MaxValue()
	switch sticks := t.info.Overflow == schema.Saturates; {
	case b.nanos-a.nanos > w.maxGapNanos:
		return 0, Gap
	case sticks && max(a.value, b.value) >= full, full > narrowFull && (a.value == narrowFull || b.value == narrowFull):
		return 0, Saturated
	case b.value == a.value:
		t.stays(p, a, b)
		return 0, sound
	case b.value > a.value:
		if t.fellTo(p, a) && b.value >= t.falls[p].from {
			return 0, Reset
		}
		rise, nanos := float64(b.value-a.value), b.nanos-a.nanos
		// Less is plausible on every link, for packets and bytes: a fast path for most differences.
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

// fell records that a counter fell from reading a to reading b.
func (t *track) fell(p uint32, a, b reading) {
	if t.falls == nil {
		t.falls = make([]fall, len(t.held))
	}
	t.falls[p] = fall{b.nanos, a.value}
}

// fellTo reports whether a reading is the one to which a counter fell.
func (t *track) fellTo(p uint32, a reading) bool {
	return t.falls != nil && t.falls[p].from > 0 && t.falls[p].nanos == a.nanos
}

// stays extends a fall to the next reading while the counter's value is unchanged.
func (t *track) stays(p uint32, a, b reading) {
	if t.fellTo(p, a) {
		t.falls[p].nanos = b.nanos
	}
}

// mostPossible is how far a counter can rise in a time. It is at most half the counter's
// range, beyond which a reset is as likely as a wrap, if the link's capacity is unknown or
// a weak limit, as for packets: they may be large, and are not lost all the time.
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

// carried is how far a counter of bytes or packets can rise in a time by the link's capacity; 0 if unknown.
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
	if link := w.ports.egress[p]; w.cfg.TickPicoseconds == 0 && w.cfg.TickBytes > 0 && link != schema.NoLink {
		if capacity := w.ports.graph.Capacity(link); capacity > 0 {
			return float64(w.cfg.TickBytes) / capacity * 1e9
		}
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
