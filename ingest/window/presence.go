package window

import (
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
)

// sightings is the working memory of putPresence; it is recomputed for every interval.
type sightings struct {
	seen    []sighting // by port
	readers map[uint64]sightCount
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
// unheard.
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
			if rep := &t.reporters[p]; rep.newest > max(w.seen[p].newest, w.clocks.activeAfter) && !w.clocks.skewed[w.ports.device[p]] {
				w.seen[p] = sighting{rep.newest, rep.reader}
			}
		}
	}
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
