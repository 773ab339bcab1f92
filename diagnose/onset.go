package diagnose

import (
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

// began is the slot of an onset.
func (s *Stage) began(rc *regionCase) int64 {
	return s.history.Clock.Now - int64(len(rc.stall)-1-rc.onset)
}

// beganAgain is the slot of an onset, or of the end of the last pause since.
func (s *Stage) beganAgain(rc *regionCase) int64 {
	return s.history.Clock.Now - int64(len(rc.stall)-1-rc.again)
}

// indexIn is the index of an instant in a region's stall, negative if before it.
func (s *Stage) indexIn(rc *regionCase, at schema.Instant) int {
	return int(s.history.Clock.SlotOf(int64(at))-s.history.Clock.Now) + len(rc.stall) - 1
}

// startedAt reports whether something began just before the region's onset.
func (s *Stage) startedAt(rc *regionCase, at schema.Instant) bool {
	start := s.indexIn(rc, at)
	return rc.onset >= 0 && start >= rc.onset-settle-1 && start <= rc.onset
}

// alreadyStalled is the share of a region's stall that, if there before an event, clears the event of having caused it.
const alreadyStalled = .7

// foundStalled reports whether an event came later than one interval after the onset, when the region stalled as it does now.
func (s *Stage) foundStalled(rc *regionCase, at schema.Instant) bool {
	first := rc.onset + 2
	if rc.onset < 0 && !rc.old || first >= len(rc.stall) {
		return false
	}
	now := s.indexIn(rc, at)
	if now < first || now >= len(rc.stall) {
		return false
	}
	return meanOf(rc.stall[rc.onset+1:now]) >= alreadyStalled*meanOf(rc.stall[now:])
}

// before returns the slots that define what was usual before an onset: those before the region first stalled as it does now,
// ignoring pauses, since what a job that communicates in phases does between them is not usual. If too few are remembered, it is
// those before the last pause ended.
func (s *Stage) before(rc *regionCase) history.Slots {
	if calm := s.calmBefore(rc, rc.firstOnset()); calm.N >= leastBefore {
		return calm
	}
	return s.calmBefore(rc, rc.onset)
}

// firstOnset is the index into a region's stall at which it first stalled as it does now, ignoring pauses; -1: unknown.
func (rc *regionCase) firstOnset() int { return min(rc.onset, onsetOf(rc.stall, longPause)) }

// resumes reports whether a pause of a region ended, and too little from before its first onset is remembered.
func (s *Stage) resumes(rc *regionCase) bool {
	first := rc.firstOnset()
	return first < rc.onset && s.calmBefore(rc, first).N < leastBefore
}

// calmBefore returns the last slots before an onset in which a region did not stall as it does now: its load while it was
// congested before is no more usual than its load now.
func (s *Stage) calmBefore(rc *regionCase, onset int) (calm history.Slots) {
	limit := risenStall(rc.stall)
	for i := onset - settle - 1; i >= 0 && calm.N < baseline; i-- {
		if slot := s.history.Clock.Now - int64(len(rc.stall)-1-i); slot >= s.history.Clock.First && !(rc.stall[i] >= limit) {
			calm.At[calm.N] = slot
			calm.N++
		}
	}
	return calm
}

// loadChange is the load of a region's links now relative to before its onset; 0 if either is unknown.
func (s *Stage) loadChange(rc *regionCase) float64 {
	use := s.history.LevelsOf(schema.BandwidthUsed)
	if use == nil || rc.onset < 0 {
		return 0
	}
	was, n, calm := 0., 0., s.before(rc)
	for _, slot := range calm.At[:calm.N] {
		if v := use.Mean(slot, rc.region.Links); !history.IsMissing(v) {
			was, n = was+float64(v), n+1
		}
	}
	now := use.Mean(s.history.Clock.Now, rc.region.Links)
	if n == 0 || history.IsMissing(now) {
		return 0
	}
	const idle = 1 // percent: below, ratios say nothing
	return max(1e-3, (float64(now)+idle)/(was/n+idle))
}

// usedBefore returns a function for a link's load before the onset, percent of its capacity; -1 if unknown. It is
// valid until the next call of usedBefore.
func (s *Stage) usedBefore(rc *regionCase) func(schema.LinkID) float64 {
	if rc.onset < 0 {
		return s.history.MeanUse(history.Slots{})
	}
	return s.history.MeanUse(s.before(rc))
}

// findAdded finds the load added to a region's links.
func (s *Stage) findAdded(rc *regionCase) {
	for _, l := range rc.region.Links {
		added := 0.
		if was := s.p.Before(l); was >= 0 {
			added = max(0, s.p.UseOf(l)-was) * s.graph.Capacity(l)
		}
		rc.added = append(rc.added, added)
	}
}

// flatIntervals is the least number of intervals since the onset that show a constant load: with a deviation up to
// flatShare of it or flatSteps, percent of capacity, the resolution at which loads are remembered.
const flatIntervals, flatShare, flatSteps = 4, .02, .2

// isFlat reports whether a link's load was constant in the last intervals since the onset of a region.
func (s *Stage) isFlat(rc *regionCase, l schema.LinkID) bool {
	use := s.history.LevelsOf(schema.BandwidthUsed)
	if use == nil || rc.again < 0 {
		return false
	}
	n, mean, deviation := use.Moments(s.history.Clock.Now-int64(min(endIntervals, len(rc.stall)-rc.again-1))+1, s.history.Clock.Now, l)
	return n >= flatIntervals && deviation <= max(flatShare*mean, flatSteps)
}
