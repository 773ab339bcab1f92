package window

import (
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
)

// reading is one value of a counter of a port.
type reading struct {
	nanos int64
	value uint64
}

// depth is how many readings of a counter are held, so that a late one can
// still be inserted in order: the start of the open interval, the first reading
// after its end, and two spare. If a port is read more often than once per
// interval, the older readings are folded into partials, which a late reading
// can no longer split.
const depth = 4

// history is the newest readings of a counter of a port, by time: one cache line.
type history [depth]reading

// partial is what fell into an interval so far: for a counter the sum of deltas
// and the time covered; for a gauge the sum of its readings and their number.
type partial struct {
	sum  float64
	time int64
}

// track is the state of one counter, for all ports of the fabric.
type track struct {
	info   schema.CounterInfo
	newest int64 // instant of the newest reading of any port

	// Counters and gauges; by port.
	held      []uint8 // number of readings in the history
	histories []history
	folded    [][]partial // by slot of interval, then by port; nil until something is folded
	falls     []fall      // by port; nil until a counter falls

	// Derived percentages; by slot of interval, then by port: reading + 1, or 0.
	derived [][]uint64

	// reporters are those of batches whose key counter this is, by port; nil if there
	// are none.
	reporters []reporter
}

func newTrack(info schema.CounterInfo, ports, slots int) *track {
	t := &track{info: info, newest: never}
	if info.Kind == schema.DerivedPercent {
		t.derived = make([][]uint64, slots)
		for s := range t.derived {
			t.derived[s] = make([]uint64, ports)
		}
		return t
	}
	t.held, t.histories = make([]uint8, ports), make([]history, ports)
	return t
}

// trackReporters makes the track record who has reported.
func (t *track) trackReporters(ports int) {
	if t.reporters == nil {
		t.reporters = make([]reporter, ports)
		for p := range t.reporters {
			t.reporters[p].newest, t.reporters[p].leftNanos = never, never
		}
	}
}

// partials returns the partials of a slot.
func (t *track) partials(slot, slots int) []partial {
	if t.folded == nil {
		t.folded = make([][]partial, slots)
		for s := range t.folded {
			t.folded[s] = make([]partial, len(t.held))
		}
	}
	return t.folded[slot]
}

// clearSlot clears a slot's values, and returns how many there were.
func (t *track) clearSlot(slot int) (cleared int) {
	if t.derived != nil {
		for p, v := range t.derived[slot] {
			if v != 0 {
				t.derived[slot][p] = 0
				cleared++
			}
		}
	}
	if t.folded != nil {
		for p := range t.folded[slot] {
			if t.folded[slot][p].time != 0 {
				t.folded[slot][p] = partial{}
				cleared++
			}
		}
	}
	return cleared
}

// forgetFrom drops the readings of an instant or later, and returns how many
// there were.
func (t *track) forgetFrom(nanos int64) (forgotten int) {
	for p, n := range t.held {
		for n > 0 && t.histories[p][n-1].nanos >= nanos {
			n--
			forgotten++
		}
		t.held[p] = n
	}
	t.newest = min(t.newest, nanos)
	return forgotten
}

// forget drops all readings and reporters.
func (t *track) forget(slots int) {
	t.newest = never
	clear(t.held)
	clear(t.falls)
	for s := range slots {
		t.clearSlot(s)
	}
	for p := range t.reporters {
		t.reporters[p].newest, t.reporters[p].leftNanos = never, never
	}
}

// renumber moves the state of ports to their new numbers: from[p] is the old
// number of port p, or noPort; readings move only if keep is set.
func (t *track) renumber(from []uint32, keep schema.Bitmap) {
	t.held = moved(t.held, from, keep)
	t.histories = moved(t.histories, from, keep)
	t.falls = moved(t.falls, from, keep)
	for s := range t.folded {
		t.folded[s] = moved(t.folded[s], from, keep)
	}
	for s := range t.derived {
		t.derived[s] = moved(t.derived[s], from, keep)
	}
	if t.reporters != nil {
		old := t.reporters
		t.reporters = nil
		t.trackReporters(len(from))
		for p, o := range from {
			if o != noPort {
				t.reporters[p] = old[o]
			}
		}
	}
}

func moved[T any](old []T, from []uint32, keep schema.Bitmap) []T {
	if old == nil {
		return nil
	}
	out := make([]T, len(from))
	for p, o := range from {
		if o != noPort && keep.Has(p) {
			out[p] = old[o]
		}
	}
	return out
}

// never is the instant of a reading that does not exist.
const never = math.MinInt64

// store puts the selected rows of a batch into the tracks, column by column.
func (w *Window) store(b *schema.CounterBatch) {
	if len(w.rows) == 0 {
		return
	}
	newest := int64(never)
	for _, r := range w.rows {
		newest = max(newest, b.TimeNanos[r])
	}
	w.newest = max(w.newest, newest)
	if w.tickColumn != nil {
		w.storeTicks(b, w.tickColumn)
	}
	for _, c := range w.planned {
		c.track.newest = max(c.track.newest, newest)
		if c.track.derived != nil {
			w.storeDerived(c.track, b, c.column)
		} else {
			w.storeReadings(c.track, b, c.column)
		}
	}
	w.rows = w.rows[:0]
}

func (w *Window) storeReadings(t *track, b *schema.CounterBatch, c *schema.CounterColumn) {
	times, index, values := b.TimeNanos, b.PortIndex, c.Values
	for _, r := range w.rows {
		if c.Valid != nil && !c.Valid.Has(int(r)) {
			continue
		}
		p := w.portOf[index[r]]
		now := reading{times[r], values[r]}
		n := t.held[p]
		h := &t.histories[p]
		if n == 0 || n < depth && now.nanos > h[n-1].nanos {
			h[n] = now
			t.held[p] = n + 1
			continue
		}
		w.insert(t, p, now)
	}
}

// has reports whether a port's reading of an instant is held. If so, another one is a duplicate delivery, and nothing is lost.
func (t *track) has(p uint32, nanos int64) bool {
	return t.derived == nil && slices.ContainsFunc(t.histories[p][:t.held[p]], func(r reading) bool { return r.nanos == nanos })
}

// insert inserts a reading in order of time. If the history is full, it folds
// the oldest reading.
func (w *Window) insert(t *track, p uint32, now reading) {
	n, h := int(t.held[p]), &t.histories[p]
	at := n
	for at > 0 && h[at-1].nanos > now.nanos {
		at--
	}
	switch {
	case at > 0 && h[at-1].nanos == now.nanos:
		w.dropped[Duplicate]++
		return
	case n < depth:
		copy(h[at+1:n+1], h[at:n])
		t.held[p]++
	case at == 0:
		w.dropped[OutOfOrder]++
		return
	default:
		next := now
		if at > 1 {
			next = h[1]
		}
		w.fold(t, p, h[0], next)
		at--
		copy(h[:at], h[1:at+1])
	}
	h[at] = now
}

// fold adds a reading that leaves the history to the partials of the open intervals.
func (w *Window) fold(t *track, p uint32, a, next reading) {
	if t.info.Kind == schema.Gauge {
		w.foldGauge(t, p, a)
		return
	}
	if next.nanos <= w.openStart {
		return // both came late
	}
	delta, fault := w.delta(t, p, a, next)
	if fault != sound {
		w.dropped[fault]++
		return
	}
	span := next.nanos - a.nanos
	from := w.openStart
	for s := range w.slots {
		if from >= next.nanos {
			return
		}
		to := from + w.cfg.IntervalNanos
		if overlap := min(next.nanos, to) - max(a.nanos, from); overlap > 0 {
			slot := w.slotAt(s)
			into := &t.partials(slot, len(w.slots))[p]
			into.sum += delta * (float64(overlap) / float64(span))
			into.time += overlap
			w.slots[slot].sawSpan(a, next, overlap, w.cfg.IntervalNanos)
		}
		from = to
	}
}

func (w *Window) foldGauge(t *track, p uint32, a reading) {
	if a.nanos < w.openStart || a.nanos >= w.maxAheadNanos {
		return
	}
	slot := w.slotAt(int((a.nanos - w.openStart) / w.cfg.IntervalNanos))
	into := &t.partials(slot, len(w.slots))[p]
	into.sum += float64(a.value)
	into.time++
	w.slots[slot].saw(a.nanos)
}

// resetHistories ends the histories of a port's counters after a reset.
func (w *Window) resetHistories(p uint32) {
	for _, c := range w.planned {
		t := c.track
		if t.info.Kind != schema.Counter || t.held[p] == 0 {
			continue
		}
		w.foldHistory(t, p)
		t.held[p] = 0
		w.dropped[Reset]++
	}
}

// storeDerived keeps, for each interval, the largest of the readings whose
// nearest boundary is the interval's end.
func (w *Window) storeDerived(t *track, b *schema.CounterBatch, c *schema.CounterColumn) {
	index, values := b.PortIndex, c.Values
	for _, r := range w.rows {
		if c.Valid != nil && !c.Valid.Has(int(r)) {
			continue
		}
		nanos := b.TimeNanos[r]
		after := nanos - w.afterBoundary - w.openStart
		if after < 0 {
			continue // late
		}
		offset := 0
		for after >= w.cfg.IntervalNanos {
			after -= w.cfg.IntervalNanos
			offset++
		}
		slot := w.slotAt(offset)
		cell := &t.derived[slot][w.portOf[index[r]]]
		if *cell != 0 {
			w.dropped[Duplicate]++
		}
		*cell = max(*cell, min(values[r], math.MaxUint64-1)+1)
		w.slots[slot].saw(nanos)
	}
}

// storeTicks records the tick lengths of ports. The instant is irrelevant: a
// port's tick does not change while it is up.
func (w *Window) storeTicks(b *schema.CounterBatch, c *schema.CounterColumn) {
	if w.ticks == nil {
		w.ticks = make([]uint64, w.ports.len())
	}
	for _, r := range w.rows {
		if c.Valid == nil || c.Valid.Has(int(r)) {
			w.ticks[w.portOf[b.PortIndex[r]]] = c.Values[r]
		}
	}
}

// slotMeta is what is known about an open interval besides its values.
type slotMeta struct {
	readings    int
	first, last int64 // instants of readings; undefined if there are none
}

// saw records a reading.
func (m *slotMeta) saw(nanos int64) { m.sawFrom(nanos, nanos) }

// sawSpan records the two readings of a difference if it overlaps the interval
// by more than half of either's length, so that each reading counts about once.
func (m *slotMeta) sawSpan(a, b reading, overlapNanos, intervalNanos int64) {
	if 2*overlapNanos > min(b.nanos-a.nanos, intervalNanos) {
		m.sawFrom(a.nanos, b.nanos)
	}
}

func (m *slotMeta) sawFrom(first, last int64) {
	if m.readings == 0 {
		m.first, m.last = first, last
	}
	m.readings++
	m.first, m.last = min(m.first, first), max(m.last, last)
}
