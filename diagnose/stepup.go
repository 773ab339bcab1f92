package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/correlation"
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

// A region that always stalled steps up with a failure if it stalls more than before by leastStep, of what it stalls
// now, and by stepDeviations of how much its stall varied then.
const leastStep, stepDeviations = .2, 4.

// dateOnset: the onset is the first after the last long pause or, of a region that always stalled, its step up.
func (d directed) dateOnset() {
	t := &d.timeline
	if first := onsetOf(t.stall, longPause); first != noOnset {
		t.onset = first
	}
	if t.hasOnset() && t.baseline().N == 0 {
		t.onset = noOnset // nothing is remembered to compare it with
	}
	if !t.hasOnset() {
		if at := d.stepUp(); at != noOnset { // its beginning moves to the failure
			t.onset, t.burst = at, at
		}
	}
}

// stepUp is the index into a region's stall of the first failure beside it since when it stalls clearly more; noOnset:
// there is none. The same traffic has less room since then, and goes over the region's links instead.
func (d directed) stepUp() int {
	for i := range d.in.history.Failures {
		f := &d.in.history.Failures[i]
		if at := d.timeline.indexIn(f.Time); f.Broke() && d.in.stepsAt(d.timeline.stall, at) && d.isBeside(f) &&
			!d.in.history.WasIdle(f) {
			return at
		}
	}
	return noOnset
}

// stepsAt reports whether a stall is clearly higher in the last intervals, of those after an index, than in those
// before it.
func (in *interval) stepsAt(stall []float64, at int) bool {
	n := len(stall)
	if at < leastBaseline || at >= n {
		return false
	}
	baseline := in.scratch.baseline[:0]
	for _, v := range stall[max(0, at-baselineSlots):at] {
		if !math.IsNaN(v) {
			baseline = append(baseline, v)
		}
	}
	in.scratch.baseline = baseline
	usual := spreadOf(baseline, leastChange)
	// what failed within an interval shows in full from the next on
	now := meanOf(stall[min(n-1, max(at+1, n-correlation.Average)):])
	return usual.count >= leastBaseline && now-usual.median >= max(leastOnset, leastStep*now,
		stepDeviations*usual.scale)
}

// isBeside reports whether a link between switches failed at a switch of a region's links.
func (rc *regionCase) isBeside(f *history.PlacedFailure) bool {
	rc.in.reach.from(rc.region.Links, 0)
	return slices.ContainsFunc(f.Links, func(l schema.LinkID) bool {
		from, to := rc.in.graph.Ends(l)
		return rc.in.history.BetweenSwitches(l) && (rc.in.reach.hopsTo(from) == 0 || rc.in.reach.hopsTo(to) == 0)
	})
}
