package hostping

import "math"

// confidence is the share of right verdicts with a given gap on simulated hosts (printed by make bench-hostping). The
// gap is how much more the best explanation without the accused link costs.
func confidence(gap float64) float64 {
	const (
		sure  = 0.995 // at large gaps
		least = 0.93  // without any gap
		scale = 2.    // the gap at which the rest has fallen to 1/e
	)
	return sure - (sure-least)*math.Exp(-max(0, gap)/scale)
}

// beyond is the probability that a link's share is beyond the threshold, given the share's relative standard error.
func beyond(share, deviation float64) float64 {
	const ofModel = 0.01 // relative error of the baseline itself
	z := ln((1-abnormalShare)/share) / math.Hypot(deviation, ofModel)
	return math.Erfc(-z/math.Sqrt2) / 2
}
