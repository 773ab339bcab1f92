package window

import "github.com/giverny/giverny/schema"

// sightings is what putPresence works with; it is made afresh for every interval.
type sightings struct {
	seen    []sighting // by port
	readers map[uint64]sightCount
}

type sighting struct {
	newest int64 // instant of the newest reading; never if there is none of late, or if the device's clock is wrong
	reader uint64
}

// sightCount is of how many ports an agent was the last to report lately, and how
// many of them it has reported in the interval.
type sightCount struct{ known, heard int }

// silent says that the agent did not report most of what it reads: it is the
// agent that is blind, not its ports that are gone.
func (c sightCount) silent() bool { return 2*c.heard < c.known }

// putPresence says of every port whether it was heard of in the interval that
// closes. Lately is as long as a silent port is waited for, so that a new window
// says the same. A port whose device's clock is wrong is unheard.
func (w *Window) putPresence(snap *schema.Snapshot) {
	snap.Ports.From = resized(snap.Ports.From, snap.Links)
	snap.Ports.To = resized(snap.Ports.To, snap.Links)
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

// look finds the newest reading of every port that reported lately, and counts by
// agent.
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
	var count sightCount // of the run of ports with one reader, mostly a device's
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

// resized is n presences that are Unheard, in the memory given if it suffices.
func resized(of []schema.Presence, n int) []schema.Presence {
	if cap(of) < n {
		return make([]schema.Presence, n)
	}
	of = of[:n]
	clear(of)
	return of
}
