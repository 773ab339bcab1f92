package window

import (
	"fmt"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
)

// sightings is the working memory of putPresence; it is recomputed for every interval.
type sightings struct {
	seen    []sighting // by port
	readers map[uint64]sightCount

	remembered      []uint64 // by port: its reader according to an earlier process; 0 if unknown
	rememberedNanos int64    // the newest instant of which that process knew
}

type sighting struct {
	newest int64 // instant of the newest reading; never if there is none recently, or if the device's clock is skewed
	reader uint64
}

// sightCount counts the ports that an agent was the last to report recently, and
// those of them that it has reported in the interval.
type sightCount struct{ known, heard int }

// silent reports whether the agent missed most of the ports that it reads: then
// the agent is at fault, not its ports.
func (c sightCount) silent() bool { return 2*c.heard < c.known }

// putPresence records for every port whether it was heard in the closing
// interval. "Recently" is as long as a silent port is waited for, so that a new
// window gets the same result. A port of a device with a skewed clock is
// unheard, or missed if its clock was right recently.
func (w *Window) putPresence(snap *schema.Snapshot) {
	snap.Ports.From = scratch.Zeroed(snap.Ports.From, snap.Links) // zero is Unheard
	snap.Ports.To = scratch.Zeroed(snap.Ports.To, snap.Links)
	w.look()
	for p, s := range w.seen {
		presence := schema.Missed
		switch {
		case s.newest >= w.openStart:
			presence = schema.Heard
		case s.newest == never:
			continue
		case w.readers[s.reader].silent():
			presence = schema.Unread
		}
		if l := w.ports.leaves[p]; l != schema.NoLink {
			snap.Ports.From[l] = presence
		}
		if l := w.ports.enters[p]; l != schema.NoLink {
			snap.Ports.To[l] = presence
		}
	}
}

// look finds the newest reading of every port that reported recently, and counts
// ports per agent.
func (w *Window) look() {
	if len(w.seen) != w.ports.len() {
		w.seen = make([]sighting, w.ports.len())
	}
	for p := range w.seen {
		w.seen[p] = sighting{newest: never}
	}
	for _, t := range w.tracks {
		for p := range t.reporters {
			rep := &t.reporters[p]
			newest := max(rep.newest, rep.leftNanos)
			if w.clocks.skewed[w.ports.device[p]] {
				newest = rep.leftNanos // it was right until then
			}
			if newest > max(w.seen[p].newest, w.clocks.activeAfter) {
				w.seen[p] = sighting{newest, rep.reader}
			}
		}
	}
	w.recall()
	if w.readers == nil {
		w.readers = map[uint64]sightCount{}
	}
	clear(w.readers)
	var count sightCount // of a run of ports with the same reader, mostly one device's
	for p, s := range w.seen {
		if s.newest != never {
			count.known++
			count.heard += oneIf(s.newest >= w.openStart)
		}
		if last := p == len(w.seen)-1; last || w.seen[p+1].reader != s.reader {
			total := w.readers[s.reader]
			w.readers[s.reader], count = sightCount{total.known + count.known, total.heard + count.heard}, sightCount{}
		}
	}
}

// recall adds the ports that an earlier process knew and that no agent has reported lately. The first reading of a device that
// died meanwhile looks like one of a clock that is behind; such a clock goes on reporting.
func (w *Window) recall() {
	if w.rememberedNanos <= w.clocks.activeAfter {
		return
	}
	for p, reader := range w.remembered {
		if d := int(w.ports.device[p]); reader != 0 && w.seen[p].newest == never && !(w.clocks.skewed[d] && w.clocks.hasReported(d)) {
			w.seen[p] = sighting{w.rememberedNanos, reader}
		}
	}
}

// Readers returns, by port, a number for the agent that reported it recently, as of the last interval closed; 0 if none did.
func (w *Window) Readers() []uint64 {
	readers := make([]uint64, w.ports.len())
	for p, s := range w.seen {
		if len(w.seen) == len(readers) && s.newest != never {
			readers[p] = s.reader
		}
	}
	return readers
}

// Remember tells a new window the Readers of an earlier one, of the same version of the graph; see RememberUntil.
func (w *Window) Remember(readers []uint64) error {
	if len(readers) != w.ports.len() {
		return fmt.Errorf("the readers of %d ports, for a fabric of %d", len(readers), w.ports.len())
	}
	w.remembered = readers
	return nil
}

// RememberUntil tells how far the earlier windows came. Until ports without a reading since then would no longer be recent,
// those that Remember knows and that no agent reports are missed, or unread, as they would be without a new process.
func (w *Window) RememberUntil(endNanos int64) { w.rememberedNanos = endNanos - 1 }
