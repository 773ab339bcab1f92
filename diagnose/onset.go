package diagnose

import (
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

// began is the slot of an onset.
func (rc *regionCase) began() int64 {
	return rc.history.Clock.Now - int64(len(rc.stall)-1-rc.onset)
}

// beganAgain is the slot of an onset, or of the end of the last pause since.
func (rc *regionCase) beganAgain() int64 {
	return rc.history.Clock.Now - int64(len(rc.stall)-1-rc.again)
}

// indexIn is the index of an instant in a region's stall, negative if before it.
func (rc *regionCase) indexIn(at schema.Instant) int {
	return int(rc.history.Clock.SlotOf(int64(at))-rc.history.Clock.Now) + len(rc.stall) - 1
}

// startedAt reports whether something began just before the region's onset.
func (rc *regionCase) startedAt(at schema.Instant) bool {
	start := rc.indexIn(at)
	return rc.onset >= 0 && start >= rc.onset-settle-1 && start <= rc.onset
}

// alreadyStalled is the share of a region's stall that, if there before an event, clears the event of having caused it.
const alreadyStalled = .7

// foundStalled reports whether an event came later than one interval after the onset, when the region stalled as it does now.
func (rc *regionCase) foundStalled(at schema.Instant) bool {
	first := rc.onset + 2
	if rc.onset < 0 && !rc.old || first >= len(rc.stall) {
		return false
	}
	now := rc.indexIn(at)
	if now < first || now >= len(rc.stall) {
		return false
	}
	return meanOf(rc.stall[rc.onset+1:now]) >= alreadyStalled*meanOf(rc.stall[now:])
}

// before returns the slots that define what was usual before an onset: those before the region first stalled as it does now,
// ignoring pauses, since what a job that communicates in phases does between them is not usual. If too few are remembered, it is
// those before the last pause ended.
func (rc *regionCase) before() history.Slots {
	if calm := rc.calmBefore(rc.firstOnset()); calm.N >= leastBefore {
		return calm
	}
	return rc.calmBefore(rc.onset)
}

// firstOnset is the index into a region's stall at which it first stalled as it does now, ignoring pauses; -1: unknown.
func (rc *regionCase) firstOnset() int { return min(rc.onset, onsetOf(rc.stall, longPause)) }

// resumes reports whether a pause of a region ended, and too little from before its first onset is remembered.
func (rc *regionCase) resumes() bool {
	first := rc.firstOnset()
	return first < rc.onset && rc.calmBefore(first).N < leastBefore
}

// calmBefore returns the last slots before an onset in which a region did not stall as it does now: its load while it was
// congested before is no more usual than its load now.
func (rc *regionCase) calmBefore(onset int) (calm history.Slots) {
	limit := risenStall(rc.stall)
	for i := onset - settle - 1; i >= 0 && calm.N < baseline; i-- {
		if slot := rc.history.Clock.Now - int64(len(rc.stall)-1-i); slot >= rc.history.Clock.First && !(rc.stall[i] >= limit) {
			calm.At[calm.N] = slot
			calm.N++
		}
	}
	return calm
}

// loadChange is the load of a region's links now relative to before its onset; 0 if either is unknown.
func (rc *regionCase) loadChange() float64 {
	use := rc.history.LevelsOf(schema.BandwidthUsed)
	if use == nil || rc.onset < 0 {
		return 0
	}
	was, n, calm := 0., 0., rc.before()
	for _, slot := range calm.At[:calm.N] {
		if v := use.Mean(slot, rc.region.Links); !history.IsMissing(v) {
			was, n = was+float64(v), n+1
		}
	}
	now := use.Mean(rc.history.Clock.Now, rc.region.Links)
	if n == 0 || history.IsMissing(now) {
		return 0
	}
	const idle = 1 // percent: below, ratios say nothing
	return max(1e-3, (float64(now)+idle)/(was/n+idle))
}

// usedBefore returns a function for a link's load before the onset, percent of its capacity; -1 if unknown. It is
// valid until the next call of usedBefore.
func (rc *regionCase) usedBefore() func(schema.LinkID) float64 {
	if rc.onset < 0 {
		return rc.history.MeanUse(history.Slots{})
	}
	return rc.history.MeanUse(rc.before())
}

// findAdded finds the load added to a region's links.
func (rc *regionCase) findAdded() {
	for _, l := range rc.region.Links {
		added := 0.
		if was := rc.p.Before(l); was >= 0 {
			added = max(0, rc.p.UseOf(l)-was) * rc.graph.Capacity(l)
		}
		rc.added = append(rc.added, added)
	}
}

// flatIntervals is the least number of intervals since the onset that show a constant load: with a deviation up to
// flatShare of it or flatSteps, percent of capacity, the resolution at which loads are remembered.
const flatIntervals, flatShare, flatSteps = 4, .02, .2

// isFlat reports whether a link's load was constant in the last intervals since the onset of a region.
func (rc *regionCase) isFlat(l schema.LinkID) bool {
	use := rc.history.LevelsOf(schema.BandwidthUsed)
	if use == nil || rc.again < 0 {
		return false
	}
	n, mean, deviation := use.Moments(rc.history.Clock.Now-int64(min(endIntervals, len(rc.stall)-rc.again-1))+1, rc.history.Clock.Now, l)
	return n >= flatIntervals && deviation <= max(flatShare*mean, flatSteps)
}
