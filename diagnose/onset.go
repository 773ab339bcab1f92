package diagnose

import (
	"math"

	"github.com/giverny/giverny/diagnose/correlation"
	"github.com/giverny/giverny/diagnose/history"
)

const (
	// settle is the tolerance of an onset, in intervals to either side.
	settle = 2
	// baseline is the number of intervals before that which define what is usual.
	baselineSlots = history.MostSlots
	// leastChange is the minimum scale of a single series, as a share of its median.
	leastChange = .04
)

// An onset is a rise of at least leastOnset points and at least leastOnsetShare of the current stall. Less is noise, or
// the region has other links than before.
const leastOnset, leastOnsetShare = 3., .5

// shortPause and longPause are how many consecutive intervals of low stall count as a pause of the same congestion.
// Jobs that communicate in phases pause for some intervals.
const shortPause, longPause = 1, 6

// risenStall is the threshold, percent, above which a region stalls as it does now; +Inf if no rise is known.
func risenStall(stall []float64) float64 {
	n := len(stall)
	now, count := 0., 0.
	low := math.Inf(1)
	for i, v := range stall {
		if math.IsNaN(v) {
			continue
		}
		low = min(low, v)
		if i >= n-correlation.Average {
			now, count = now+v, count+1
		}
	}
	if count == 0 {
		return math.Inf(1)
	}
	now /= count
	if last := stall[n-1]; !math.IsNaN(last) {
		if last-low < leastOnset {
			return math.Inf(1) // the congestion has ended
		}
		now = max(now, last)
	}
	if now-low < max(leastOnset, leastOnsetShare*now) {
		return math.Inf(1)
	}
	return low + .4*(now-low)
}

// onsetOf returns the index at which a stall series rose to its current level, ignoring pauses; noOnset if it was
// always there, as far as known.
func onsetOf(stall []float64, pause int) int {
	n, limit := len(stall), risenStall(stall)
	onset, gap := n, 0
	for i := n - 1; i >= 0 && gap <= pause; i-- {
		switch {
		case math.IsNaN(stall[i]):
		case stall[i] >= limit:
			onset, gap = i, 0
		default:
			gap++
		}
	}
	if onset == 0 || onset == n {
		return noOnset
	}
	return onset
}
