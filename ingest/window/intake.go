package window

import (
	"slices"

	"github.com/giverny/giverny/schema"
)

// plan determines the columns that become metrics, and the values that apply to
// all rows. It reports whether there is anything to do.
func (w *Window) plan(b *schema.CounterBatch) bool {
	w.planned, w.tickColumn, w.keyCounter, w.lateBy = w.planned[:0], nil, nil, 0
	w.afterBoundary = w.cfg.IntervalNanos/2 + 1
	for i := range b.Columns {
		c := &b.Columns[i]
		if c.Name == schema.TickColumn {
			w.tickColumn = c
			continue
		}
		t := w.track(c.Name)
		if t == nil {
			continue
		}
		w.planned = append(w.planned, plannedColumn{t, c})
		if t.derived != nil {
			w.lateBy = w.afterBoundary
		}
		// Counters take precedence over derived percentages: of a row with
		// both, they are complete last.
		if w.keyCounter == nil || w.keyCounter.derived != nil && t.derived == nil {
			w.keyCounter = t
		}
	}
	if w.keyCounter == nil {
		return false
	}
	w.keyCounter.trackReporters(w.ports.len())
	w.ahead = w.reachAhead(w.keyCounter)
	w.agent = hashText(hashText(hashStart, b.Agent), b.Source)
	return true
}

// track returns the state of a counter, or nil if it belongs to no wanted metric.
func (w *Window) track(name string) *track {
	if t := w.trackOf[name]; t != nil {
		return t
	}
	info, known := schema.LookupCounter(name)
	if !known {
		w.dropped[UnknownCounter]++
		return nil
	}
	if !w.wanted[info.Metric] {
		return nil
	}
	t := newTrack(info, w.ports.len(), len(w.slots))
	w.trackOf[info.Name] = t
	at, _ := slices.BinarySearchFunc(w.tracks, info.Metric+1, func(t *track, m schema.Metric) int { return int(t.info.Metric) - int(m) })
	w.tracks = slices.Insert(w.tracks, at, t)
	return t
}

// acceptRow decides what to do with a row.
func (w *Window) acceptRow(b *schema.CounterBatch, r, p uint32, nanos int64) {
	late := !w.opened || nanos-w.lateBy < w.openStart
	if late && !w.closed {
		w.store(b)
		w.openAt(nanos - w.lateBy)
		late = false
	}
	rep := &w.keyCounter.reporters[p]
	at := inOrder
	if nanos <= rep.newest || b.Sequence < rep.number || rep.alone {
		at = w.placeOf(b, rep, r, p, nanos)
	}
	switch {
	case at == disagreeing, at == intermixed:
		w.refuse(b, rep, p, at)
		return
	case rep.epoch != b.Epoch && !w.renew(b, rep, p, nanos, at):
		w.dropped[Late]++
		return
	case at == setBack:
		w.dropped[ClockBack]++
		w.breakOff(b, p, at)
	}
	before := rep.newest
	w.recordReport(rep, p, nanos, b.Sequence, at == setBack)
	if w.clocks.anySkewed && w.clocks.skewed[w.ports.device[p]] {
		w.dropped[ClockSkew]++
		w.loseUnless(rep.behind(), nanos)
		return
	}
	early := nanos >= w.maxAheadNanos
	if !early {
		w.rows = append(w.rows, r)
	}
	if late {
		w.dropped[Late]++
		w.loseUnless(rep.behind() || w.keyCounter.has(p, nanos), nanos)
		w.watchReturn(nanos)
	} else {
		w.stale = 0
		w.loseUnless(rep.behind() || !w.heldUp(before, nanos), w.openStart-1)
	}
	if w.clocks.ready() {
		w.store(b)
		w.closeDue(never)
		if early && nanos < w.maxAheadNanos {
			w.rows = append(w.rows, r)
			return
		}
	}
	if early {
		w.dropped[Early]++
		w.lose(nanos)
	}
}

// heldUp reports whether the difference between two readings of a port reaches
// into an interval that closed without it, although the second reading was taken
// in time: it was delayed on its way. (Ports that miss a poll are another case:
// intervals do not wait for them.)
func (w *Window) heldUp(before, nanos int64) bool {
	return w.closed && before != never && before < w.openStart && nanos >= w.openStart &&
		nanos-w.openStart < w.cfg.ClockLatenessNanos && nanos-before <= w.maxGapNanos && w.keyCounter.derived == nil
}

// reachAhead is how far beyond its instant a reading completes its counter: a
// derived percentage completes the interval that ends at the nearest boundary,
// other counters only up to the reading.
func (w *Window) reachAhead(keyCounter *track) int64 {
	if keyCounter.derived == nil {
		return 0
	}
	return w.cfg.IntervalNanos - w.cfg.IntervalNanos/2 - 1
}

// renew records who reads a port. If the same agent reports that the port's
// counters were reset, or the clock was set, earlier readings cannot be continued,
// and rows from before that are rejected.
func (w *Window) renew(b *schema.CounterBatch, rep *reporter, p uint32, nanos int64, at place) bool {
	if rep.agent == w.agent && b.Epoch == 0 {
		return true // it does not know
	}
	if (rep.agent == w.agent || rep.epoch == 0 && rep.reader == w.agent) && rep.newest != never {
		if nanos <= rep.newest && rep.newest < w.clocks.futureNanos && at != setBack {
			return false
		}
		w.store(b)
		w.resetHistories(p)
	}
	rep.agent, rep.epoch = w.agent, b.Epoch
	return true
}

// watchReturn detects that time jumped back for good: for two rounds, all rows
// were late by more than MaxJumpIntervals.
func (w *Window) watchReturn(nanos int64) {
	if nanos >= w.openStart-int64(w.cfg.MaxJumpIntervals)*w.cfg.IntervalNanos {
		w.stale = 0
		return
	}
	if w.stale++; w.stale <= 2*w.clocks.numKnown {
		return
	}
	w.dropped[Jump]++
	for _, t := range w.tracks {
		t.forget(len(w.slots))
	}
	clear(w.slots)
	w.rows, w.stale, w.newest, w.closed, w.opened, w.clocks.again = w.rows[:0], 0, never, false, false, false
	w.openAt(nanos - w.lateBy)
}

// openAt makes the interval that contains an instant the first open one. Until
// an interval has closed, it may be earlier than the current one: the clock of
// the first device may have been wrong. Readings that are then too far ahead
// are dropped.
func (w *Window) openAt(nanos int64) {
	start := schema.IntervalAt(nanos, w.cfg.IntervalNanos).StartNanos
	back := (w.openStart - start) / w.cfg.IntervalNanos
	first := !w.opened
	w.opened = true
	w.setOpen(start)
	if first {
		return
	}
	w.head = w.slotAt(-int(back % int64(len(w.slots))))
	for s := range min(back, int64(len(w.slots))) {
		slot := w.slotAt(int(s))
		w.slots[slot] = slotMeta{}
		for _, t := range w.tracks {
			w.dropped[Early] += uint64(t.clearSlot(slot))
		}
	}
	if w.newest >= w.maxAheadNanos {
		w.newest = w.maxAheadNanos
		for _, t := range w.tracks {
			w.dropped[Early] += uint64(t.forgetFrom(w.maxAheadNanos))
		}
	}
}

func (w *Window) setOpen(start int64) {
	w.openStart = start
	w.maxAheadNanos = start + int64(len(w.slots))*w.cfg.IntervalNanos
	w.recount()
}

// slotAt is the slot of the open interval with the given number, counted from
// the first one.
func (w *Window) slotAt(interval int) int {
	n := len(w.slots)
	return ((w.head+interval)%n + n) % n
}
