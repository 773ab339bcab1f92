package diagnose

import (
	"math"
	"slices"
)

// spread is the median and the median absolute deviation (MAD) of a feature, which are robust to a few
// extreme jobs (Donoho; Monet, section 7).
type spread struct {
	median, scale float64
	count         int
}

const (
	// madScale scales the MAD of a normal distribution to its standard deviation.
	madScale = 1.4826
	// meanScale does so for the mean absolute deviation, which is used if the MAD is 0: half of the jobs are equal.
	meanScale = 1.2533
	// leastScale is the minimum scale as a share of the median: smaller differences between jobs do not matter.
	leastScale = .1
	// fewJobs is the number of jobs near a region below which all jobs of the fabric define what is usual.
	fewJobs = 5
)

// spreadOf returns the spread of values, which it overwrites; the scale is at least this share of the median.
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
		if n < fewJobs { // one outlier of few would mask itself
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

// mostDeviations caps deviations: more of them say no more.
const mostDeviations = 1000

// deviations is how far a value is above the median, in scales.
func (s spread) deviations(v float64) float64 {
	switch {
	case s.count == 0 || v <= s.median:
		return 0
	case s.scale == 0:
		return mostDeviations // median 0: the others move nothing
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

// ramp is 0 up to a value and 1 from another on, and linear between them; it falls if the second is the lower.
func ramp(v, from, to float64) float64 { return max(0, min(1, (v-from)/(to-from))) }

// logistic is the probability with some log odds.
func logistic(odds float64) float64 { return 1 / (1 + math.Exp(-odds)) }
