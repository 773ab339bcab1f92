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
		return rc.in.graph.BetweenSwitches(l) && (rc.in.reach.hopsTo(from) == 0 || rc.in.reach.hopsTo(to) == 0)
	})
}

// cutStall leaves only the first step of the stall if that rose in two and nothing explains the second: its links carry
// as much as before, no job whose exchange crosses it began or doubled its traffic, and nothing broke. Severe
// congestion may come long after the load that causes it.
func (g grid) cutStall() {
	if !g.timeline.hasOnset() || !g.load.atLeast(fallen) || g.load.isAbove(moreLoad) {
		return
	}
	first := onsetOf(g.timeline.stall[:g.timeline.onset], shortPause)
	if first == noOnset || g.explainsOnset() {
		return
	}
	level := meanOf(g.timeline.stall[first:g.timeline.onset])
	for i, v := range g.timeline.stall {
		g.timeline.stall[i] = min(v, level)
	}
	g.timeline.onset, g.timeline.burst, g.timeline.cut = first, first, true
	g.load = g.loadRatio()
}

// moreLoad is the load of a region's links relative to before its onset from which on they carry more.
const moreLoad = 1.1

// explainsOnset reports whether something broke at a region's onset, or a job whose exchange crosses it began or
// doubled its traffic.
func (g grid) explainsOnset() bool {
	for i := range g.in.history.Failures {
		if f := &g.in.history.Failures[i]; f.Broke() && g.timeline.indexIn(f.Time) >= g.timeline.onset-settle-1 {
			return true
		}
	}
	for i := range g.suspects {
		if j := g.suspects[i].job; g.timeline.startedAt(j.Start) || g.doubled(j) {
			return true
		}
	}
	return false
}
