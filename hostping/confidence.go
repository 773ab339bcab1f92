package hostping

import "math"

// confidence is the share of verdicts with such a gap that are right, on simulated hosts (make bench-hostping prints
// it): a gap is by how much the best explanation without the accused link costs more.
func confidence(gap float64) float64 {
	const (
		sure  = 0.995
		least = 0.93 // without any gap
		scale = 2.
	)
	return sure - (sure-least)*math.Exp(-max(0, gap)/scale)
}

// beyond is how sure it is that a link's share lies beyond the threshold, given the share's relative standard error.
func beyond(share, deviation float64) float64 {
	const ofModel = 0.01 // of the baseline itself
	z := ln((1-AbnormalShare)/share) / math.Hypot(deviation, ofModel)
	return math.Erfc(-z/math.Sqrt2) / 2
}
