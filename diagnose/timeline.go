package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// timeline is how a region stalled in the remembered intervals, and since when it stalls as it does now.
type timeline struct {
	clock history.Clock
	stall []float64 // mean over its links by slot, the last one now; NaN: not measured
	onset int       // index into stall, or noOnset
	burst int       // the same of the last burst: the end of the last pause since the onset, if there was one
	old   bool      // it began before the remembered intervals
	cut   bool      // its stall is cut to the first of two steps
}

// noOnset is the index of an onset that is not known.
const noOnset = -1

// hasOnset reports whether it is known since when the region stalls as it does now.
func (t *timeline) hasOnset() bool { return t.onset != noOnset }

// began is the slot of an onset.
func (t *timeline) began() int64 {
	return t.clock.Now - int64(len(t.stall)-1-t.onset)
}

// burstBegan is the slot of the last burst.
func (t *timeline) burstBegan() int64 {
	return t.clock.Now - int64(len(t.stall)-1-t.burst)
}

// firstBegan is the slot of the first onset, if there is one.
func (t *timeline) firstBegan() int64 {
	return t.clock.Now - int64(len(t.stall)-1-t.firstOnset())
}

// indexIn is the index of an instant in a region's stall, negative if before it.
func (t *timeline) indexIn(at schema.Instant) int {
	return int(t.clock.SlotOf(int64(at))-t.clock.Now) + len(t.stall) - 1
}

// startedAt reports whether something began just before the region's onset.
func (t *timeline) startedAt(at schema.Instant) bool {
	start := t.indexIn(at)
	return t.hasOnset() && start >= t.onset-settle-1 && start <= t.onset
}

// alreadyStalled is the share of a region's stall that, if there before an event, clears the event of having caused it.
const alreadyStalled = .7

// foundStalled reports whether an event came later than one interval after the onset, when the region stalled as it
// does now.
func (t *timeline) foundStalled(at schema.Instant) bool {
	first := t.onset + 2
	if !t.hasOnset() && !t.old || first >= len(t.stall) {
		return false
	}
	now := t.indexIn(at)
	if now < first || now >= len(t.stall) {
		return false
	}
	return meanOf(t.stall[t.onset+1:now]) >= alreadyStalled*meanOf(t.stall[now:])
}

// baseline returns the slots with which the present is compared, before an onset: those before the region first stalled
// as it does now, ignoring pauses, since what a job that communicates in phases does between them is not usual. If too
// few are remembered, it is those before the last pause ended.
func (t *timeline) baseline() history.Slots {
	if calm := t.calmBefore(t.firstOnset()); calm.N >= leastBaseline {
		return calm
	}
	return t.calmBefore(t.onset)
}

// firstOnset is the index into a region's stall at which it first stalled as it does now, ignoring pauses, or noOnset.
func (t *timeline) firstOnset() int { return min(t.onset, onsetOf(t.stall, longPause)) }

// resumes reports whether a pause of a region ended, and too little from before its first onset is remembered.
func (t *timeline) resumes() bool {
	first := t.firstOnset()
	return first < t.onset && t.calmBefore(first).N < leastBaseline
}

// calmBefore returns the last slots before an onset in which a region did not stall as it does now: its load while it
// was congested before is no more usual than its load now.
func (t *timeline) calmBefore(onset int) (calm history.Slots) {
	limit := risenStall(t.stall)
	for i := onset - settle - 1; i >= 0 && calm.N < baselineSlots; i-- {
		if slot := t.clock.Now - int64(len(t.stall)-1-i); slot >= t.clock.First && !(t.stall[i] >= limit) {
			calm.At[calm.N] = slot
			calm.N++
		}
	}
	return calm
}

// loadRatio is the load of a region's links in the interval relative to the baseline.
func (rc *regionCase) loadRatio() ratio {
	use := rc.in.history.LevelsOf(schema.BandwidthUsed)
	if use == nil || !rc.timeline.hasOnset() {
		return ratio{}
	}
	baseline, n, calm := 0., 0., rc.timeline.baseline()
	for _, slot := range calm.At[:calm.N] {
		if v := use.Mean(slot, rc.region.Links); !history.IsMissing(v) {
			baseline, n = baseline+float64(v), n+1
		}
	}
	now := use.Mean(rc.in.history.Clock.Now, rc.region.Links)
	if n == 0 || history.IsMissing(now) {
		return ratio{}
	}
	const idle = 1 // percent: below, ratios say nothing
	return ratio{max(1e-3, (float64(now)+idle)/(baseline/n+idle)), true}
}

// past is what a region's readings are compared with: the load of links before its onset, if that is known.
func (rc *regionCase) past() root.Past {
	var calm history.Slots
	if rc.timeline.hasOnset() {
		calm = rc.timeline.baseline()
	}
	before, number := rc.in.history.MeanUse(calm)
	past := root.Past{Before: before, Number: number, Flat: rc.isFlat}
	if rc.timeline.hasOnset() && rc.timeline.began() == rc.in.history.Clock.Now {
		past.Stale = rc.in.isLost
	}
	return past
}

// isLost reports whether the load of a link was not read in the interval: it has that of the one before.
func (in *interval) isLost(l schema.LinkID) bool {
	use := in.history.LevelsOf(schema.BandwidthUsed)
	return use != nil && use.Row(in.history.Clock.Now)[l] == history.LevelMissing
}

// findAdded finds the load added to a region's links, if they carry clearly more than before.
func (rc *regionCase) findAdded() {
	if !rc.load.isAbove(risen) {
		return
	}
	for _, l := range rc.region.Links {
		added := 0.
		if baseline := rc.baselineUse(l); baseline.known {
			added = max(0, rc.in.use(l).orZero()-baseline.of) * rc.in.graph.Capacity(l)
		}
		rc.addedByLink = append(rc.addedByLink, added)
	}
}

// flatIntervals is the least number of intervals since the onset that show a constant load: with a deviation up to
// flatShare of it or flatSteps, percent of capacity, the resolution at which loads are remembered.
const flatIntervals, flatShare, flatSteps = 4, .02, .2

// isFlat reports whether a link's load was constant in the last intervals since the onset of a region.
func (rc *regionCase) isFlat(l schema.LinkID) bool {
	use := rc.in.history.LevelsOf(schema.BandwidthUsed)
	if use == nil || rc.timeline.burst == noOnset {
		return false
	}
	from := rc.timeline.burst
	if len(rc.timeline.stall)-from <= flatIntervals && rc.timeline.hasOnset() {
		from = rc.timeline.onset // a link that lost rate also carries that between bursts
	}
	now, since := rc.in.history.Clock.Now, min(endIntervals, len(rc.timeline.stall)-from-1)
	n, mean, deviation := use.Moments(now-int64(since)+1, now, l)
	return n >= flatIntervals && deviation <= max(flatShare*mean, flatSteps)
}

// peaks reports whether a region stalls more since its onset than at any time remembered before.
func (t *timeline) peaks() bool {
	before := 0.
	for _, v := range t.stall[:t.onset] {
		if v > before { // not NaN
			before = v
		}
	}
	return slices.ContainsFunc(t.stall[t.onset:], func(v float64) bool { return v > before })
}
