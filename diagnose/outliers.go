package diagnose

import (
	"math"
	"slices"
)

// spread is where most values of a feature lie: the median and the median absolute deviation, which a few
// extreme jobs do not move (Donoho; Monet, section 7).
type spread struct {
	median, scale float64
	count         int
}

const (
	// madScale makes the MAD of a normal distribution its standard deviation.
	madScale = 1.4826
	// meanScale does so with the mean absolute deviation, which is used where half of the jobs are equal.
	meanScale = 1.2533
	// leastScale is the least scale, of the median: jobs do not differ by less in any way that matters.
	leastScale = .1
	// fewJobs is below how many jobs near a region all jobs of the fabric are what is usual.
	fewJobs = 5
)

// spreadOf finds the spread of values, which it sorts; the scale is a share of the median at least.
func spreadOf(values []float64, least float64) spread {
	n := len(values)
	if n == 0 {
		return spread{}
	}
	median := medianOf(values)
	sum := 0.
	for i, v := range values {
		values[i] = math.Abs(v - median)
		sum += values[i]
	}
	scale := madScale * medianOf(values)
	if scale == 0 {
		scale = meanScale * sum / float64(n)
		if n < fewJobs { // one extreme value of few would hide itself
			scale = 0
		}
	}
	return spread{median, max(scale, least*median), n}
}

// medianOf is the median of values, which it sorts.
func medianOf(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[n/2] + values[(n-1)/2]) / 2
}

// mostDeviations is the number of deviations beyond which more of them say no more.
const mostDeviations = 1000

// deviations is how far above the median a value is, in scales.
func (s spread) deviations(v float64) float64 {
	switch {
	case s.count == 0 || v <= s.median:
		return 0
	case s.scale == 0:
		return mostDeviations // all others do nothing at all
	}
	return min(mostDeviations, (v-s.median)/s.scale)
}

// meanOf is the mean of the values that were measured, 0 without any.
func meanOf(values []float64) float64 {
	sum, n := 0., 0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return sum / float64(max(1, n))
}
