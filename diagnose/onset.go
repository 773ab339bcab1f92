package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/correlation"
	"github.com/giverny/giverny/diagnose/history"
)

// evidence is how a feature and the stall of a region agree in time.
type evidence struct {
	correlation.Result
	rise    float64 // at the onset: 0 none, 1 far above its earlier values
	started bool    // the job itself began at the onset
}

const (
	// settle is the tolerance of an onset, in intervals to either side.
	settle = 2
	// baseline is the number of intervals before that which define what is usual.
	baselineSlots = history.MostSlots
	// leastChange is the minimum scale of a single series, as a share of its median.
	leastChange = .04
)

// change describes a series around an onset. It is the same for all regions that began together.
type change struct {
	onset    int    // index into the series
	baseline spread // before
	top      float64
	known    bool // there are values before and after
}

// lagged is a feature of a job by slot, the same for all regions of an interval.
type lagged struct {
	correlation.Series
	last change // the latest one computed
}

// changeAt returns the change of a series at an onset.
func (in *interval) changeAt(x []float64, onset int) change {
	baseline, since := in.scratch.baseline[:0], in.scratch.since[:0]
	for i := max(0, onset-settle-baselineSlots); i < onset-settle; i++ {
		if !math.IsNaN(x[i]) {
			baseline = append(baseline, x[i])
		}
	}
	for i := max(0, onset-settle+1); i <= min(len(x)-1, onset+settle); i++ {
		if !math.IsNaN(x[i]) {
			since = append(since, x[i])
		}
	}
	in.scratch.baseline, in.scratch.since = baseline, since
	if len(baseline) == 0 || len(since) == 0 {
		return change{onset: onset}
	}
	return change{onset, spreadOf(baseline, leastChange), slices.Max(since), true}
}

// riseAt is how far a series rises at an onset (an index) above its usual values, on a log scale: 0 up to 2
// deviations, 1 from 20. floor is added to the deviation.
func (in *interval) riseAt(x *lagged, onset int, floor float64) float64 {
	if onset < 0 || onset >= len(x.Raw) {
		return 0
	}
	if x.last.onset != onset {
		x.last = in.changeAt(x.Raw, onset)
	}
	if !x.last.known {
		return 0
	}
	z := (x.last.top - x.last.baseline.median) / (x.last.baseline.scale + floor)
	if !(z > 2) { // none, or NaN: the series is constant
		return 0
	}
	return min(1, math.Log(z/2)/math.Log(10))
}

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
