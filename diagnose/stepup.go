package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/correlation"
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

// A region that always stalled steps up with a failure if it stalls more than before by leastStep, of what it stalls now, and by
// stepDeviations of how much its stall varied then.
const leastStep, stepDeviations = .2, 4.

// stepUp is the index into a region's stall of the first failure beside it since when it stalls clearly more; -1: there is none. The
// same traffic has less room since then, and goes over the region's links instead.
func (s *Stage) stepUp(rc *regionCase) int {
	for i := range s.history.Failures {
		f := &s.history.Failures[i]
		if at := s.indexIn(rc, f.Time); f.Broke() && s.stepsAt(rc.stall, at) && s.isBeside(rc, f) && !s.history.WasIdle(f) {
			return at
		}
	}
	return -1
}

// stepsAt reports whether a stall is clearly higher in the last intervals, of those after an index, than in those before it.
func (s *Stage) stepsAt(stall []float64, at int) bool {
	n := len(stall)
	if at < leastBefore || at >= n {
		return false
	}
	before := s.scratch.before[:0]
	for _, v := range stall[max(0, at-baseline):at] {
		if !math.IsNaN(v) {
			before = append(before, v)
		}
	}
	s.scratch.before = before
	usual := spreadOf(before, leastChange)
	now := meanOf(stall[min(n-1, max(at+1, n-correlation.Average)):]) // what failed within an interval shows in full from the next on
	return usual.count >= leastBefore && now-usual.median >= max(leastOnset, leastStep*now, stepDeviations*usual.scale)
}

// isBeside reports whether a link between switches failed at a switch of a region's links.
func (s *Stage) isBeside(rc *regionCase, f *history.PlacedFailure) bool {
	s.reach.from(rc.region.Links, 0)
	return slices.ContainsFunc(f.Links, func(l schema.LinkID) bool {
		from, to := s.graph.Ends(l)
		return s.history.BetweenSwitches(l) && (s.reach.hopsTo(from) == 0 || s.reach.hopsTo(to) == 0)
	})
}
