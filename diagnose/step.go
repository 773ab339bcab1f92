package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
)

// leastStep is by how much a region that always stalled must stall more since something failed beside it, of what it stalls now;
// and by how many of its own deviations.
const leastStep, stepDeviations = .2, 4.

// stepIn is the index into a region's stall at which something failed beside it since when it stalls clearly more; -1: none did. A
// region that was there before begins anew then: less room is left for the same traffic.
func (s *Stage) stepIn(rc *regionCase) int {
	for i := range s.failures {
		f := &s.failures[i]
		at := s.indexIn(rc, f.Time)
		if at >= leastBefore && at < len(rc.stall) && f.broke() && !s.passesNothing(f) && s.steps(rc.stall, at) && s.isBeside(rc, f) && !s.wasIdle(f) {
			return at
		}
	}
	return -1
}

// steps reports whether a stall is clearly higher in the last intervals, after one, than it was before.
func (s *Stage) steps(stall []float64, at int) bool {
	n := len(stall)
	now := meanOf(stall[min(n-1, max(at+1, n-3)):])
	before := stall[max(0, at-baseline):at]
	was := meanOf(before)
	return now-was >= max(leastOnset, leastStep*now, stepDeviations*deviationOf(before, was))
}

// deviationOf is the standard deviation of values around their mean.
func deviationOf(values []float64, mean float64) float64 {
	sum, n := 0., 0.
	for _, v := range values {
		if !math.IsNaN(v) {
			sum, n = sum+(v-mean)*(v-mean), n+1
		}
	}
	return math.Sqrt(sum / max(1, n))
}

// isBeside reports whether a link that failed leaves or leads to a switch of a region's links.
func (s *Stage) isBeside(rc *regionCase, f *failure) bool {
	return slices.ContainsFunc(f.links, func(failed schema.LinkID) bool {
		return s.betweenSwitches(failed) && slices.ContainsFunc(rc.region.Links, func(l schema.LinkID) bool {
			from, to := s.graph.Ends(failed)
			a, b := s.graph.Ends(l)
			return a == from || a == to || b == from || b == to
		})
	})
}
