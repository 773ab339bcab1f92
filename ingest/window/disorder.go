package window

import "github.com/giverny/giverny/schema"

// place is where a row belongs among the readings of its port.
type place uint8

const (
	inOrder     place = iota // where its instant says
	setBack                  // after the newest reading, though its instant is before it: the clock was set back
	intermixed               // readings from before and after a step back were sorted by their instants, and this is one of them
	disagreeing              // nowhere: another agent reads the port, and its clock says something else
)

// placeOf finds out where a row belongs. An instant that is not after the port's newest
// may be that of a delivery that was late or repeated, or of a clock that was set back.
// The numbers of the agent's batches, and the values, tell which: a delivery that was
// late has a lower number, and a value between those of the readings around it; what was
// read after the clock was set back has a higher number, and a counter that has gone on.
// A second agent whose values contradict those held has a clock that differs: only the
// first one counts then, until it has been silent for the longest gap, so that no
// difference is formed between the two.
func (w *Window) placeOf(b *schema.CounterBatch, rep *reporter, r, p uint32, nanos int64) place {
	same := rep.reader == w.agent
	switch {
	case rep.newest == never, rep.newest >= w.clocks.futureNanos: // nothing is held
		return inOrder
	case !same && rep.alone && nanos-rep.newest <= w.maxGapNanos:
		return disagreeing
	case nanos > rep.newest && same && rep.numberBefore < b.Sequence && b.Sequence < rep.number:
		return intermixed
	case nanos > rep.newest:
		return inOrder
	case same && rep.number != 0 && b.Sequence <= rep.number:
		return inOrder // of the same batch, or sent before
	case same && rep.number != 0 && b.Epoch != 0 && b.Epoch != rep.epoch:
		return setBack // the agent knows
	}
	w.store(b) // the comparison needs the rows before this one
	sentLater := same && rep.number != 0
	switch contradicted, found := w.contradicted(r, p, nanos); {
	case contradicted && same:
		return setBack
	case contradicted:
		return disagreeing
	case sentLater && !found && nanos < rep.newest:
		return setBack
	}
	return inOrder
}

// contradicted compares a row's counters with the readings around its instant. It is
// contradicted if some counter is not between them and none moves between them; found is
// whether there was anything to compare. If the readings before it are gone, a value
// above the next one contradicts; it might also be from before a reset, in which case
// nothing is lost but the difference across the reset.
func (w *Window) contradicted(r, p uint32, nanos int64) (contradicted, found bool) {
	for _, c := range w.planned {
		if c.track.info.Kind != schema.Counter || c.column.Valid != nil && !c.column.Valid.Has(int(r)) {
			continue
		}
		before, after, ok := c.track.around(p, nanos)
		if !ok || before.value > after.value || w.mayWrapUnseen(c.track, p, after.nanos-max(before.nanos, nanos-w.maxGapNanos)) {
			continue
		}
		value := c.column.Values[r]
		found = found || before.nanos != never || value != after.value
		switch {
		case value < before.value || value > after.value:
			contradicted = true
		case before.value < after.value && value < after.value:
			return false, true
		}
	}
	return contradicted, found
}

// around returns the held readings of a port at or before an instant and at or after it, if there is one after it. If there
// is none before, it is zero, never.
func (t *track) around(p uint32, nanos int64) (before, after reading, ok bool) {
	before = reading{nanos: never}
	for _, r := range t.histories[p][:t.held[p]] {
		switch {
		case r.nanos == nanos:
			return r, r, true
		case r.nanos > nanos:
			return before, r, true
		}
		before = r
	}
	return reading{}, reading{}, false
}

// mayWrapUnseen reports whether a counter may pass its whole range in a time, so that its values have no order.
func (w *Window) mayWrapUnseen(t *track, p uint32, nanos int64) bool {
	return nanos > 0 && t.info.Width <= 32 && w.mostPossible(t, p, nanos) >= float64(t.info.MaxValue())/2
}

// refuse drops a row of another agent than the port's reader, or from before a step back when readings from after it are
// used. The first time, readings of both kinds are held.
func (w *Window) refuse(b *schema.CounterBatch, rep *reporter, p uint32, at place) {
	state, reason := &rep.alone, TwoReaders
	if at == intermixed {
		state, reason = &rep.mixed, ClockBack
	}
	w.dropped[reason]++
	if !*state {
		*state = true
		w.breakOff(b, p, at)
	}
}

// breakOff ends the histories of a port's counters, so that no difference reaches across a step of the clock, or from one
// agent's reading to another's. What was read before a step counts, except where it is mixed with what was read after it.
func (w *Window) breakOff(b *schema.CounterBatch, p uint32, at place) {
	w.store(b)
	for _, c := range w.planned {
		t := c.track
		if t.info.Kind != schema.Counter {
			continue
		}
		if at == setBack {
			w.foldHistory(t, p)
		}
		t.held[p] = 0
		if t.falls != nil {
			t.falls[p] = fall{}
		}
	}
}

// foldHistory adds all differences of a history to the partials of the open intervals.
func (w *Window) foldHistory(t *track, p uint32) {
	n, h := int(t.held[p]), t.histories[p]
	for i := range max(n-1, 0) {
		w.fold(t, p, h[i], h[i+1])
	}
}

// Renumbered tells the window that an agent numbers the batches of a source from the start again: their order says nothing
// about batches from before.
func (w *Window) Renumbered(agent, source string) {
	who := hashText(hashText(hashStart, agent), source)
	for _, t := range w.tracks {
		for p := range t.reporters {
			if rep := &t.reporters[p]; rep.reader == who {
				rep.number, rep.numberBefore = 0, 0
			}
		}
	}
}
