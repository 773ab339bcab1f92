package correlation

import (
	"math"
	"slices"
)

// Series is a series prepared for correlation at any lag. One preparation serves all stalls of an interval. It reuses
// its memory.
type Series struct {
	Raw     []float64 // by slot, the newest last; call Prepare after a change
	x       []float64 // smoothed, gaps filled
	twice   []float64 // x repeated twice and scaled to at most 1, so that circular windows are slices
	sums    []float64 // running sums of twice
	squares []float64 // running sums of its squares
	// by slots from the end of twice to that of a window of length width: 1/sqrt of the window's motion, 0 if constant
	scales []float64
	width  int
	usable bool      // enough values, and not all 0
	byLag  []float64 // correlations with the current stall, by circular lag, as far as computed
}

// movingAverage appends the mean of each value and the Average-1 before it, without NaNs.
func movingAverage(out, in []float64) []float64 {
	for i := range in {
		sum, n := 0., 0
		for _, v := range in[max(0, i-Average+1) : i+1] {
			if !math.IsNaN(v) {
				sum += v
				n++
			}
		}
		if n == 0 {
			out = append(out, math.NaN())
			continue
		}
		out = append(out, sum/float64(n))
	}
	return out
}

// Prepare derives the smoothed series and its sums from Raw. A gap is filled with the last value before it.
func (s *Series) Prepare() {
	s.usable, s.width = false, 0
	s.x = movingAverage(s.x[:0], s.Raw)
	known, last := 0, math.NaN()
	for i, v := range s.x {
		if math.IsNaN(v) {
			s.x[i] = last
			continue
		}
		known, last = known+1, v
	}
	if known < LeastPairs {
		return
	}
	for i := len(s.x) - 1; i >= 0; i-- { // a leading gap takes the first value
		if math.IsNaN(s.x[i]) {
			s.x[i] = s.x[i+1]
		}
	}
	s.twice = append(append(s.twice[:0], s.x...), s.x...)
	scale := 0.
	for _, v := range s.x {
		scale = max(scale, math.Abs(v))
	}
	if scale == 0 {
		return
	}
	for i, v := range s.x {
		s.twice[i] = v / scale
	}
	copy(s.twice[len(s.x):], s.twice)
	n, sum, squares := len(s.twice)+1, 0., 0.
	s.sums, s.squares = slices.Grow(s.sums[:0], n)[:n], slices.Grow(s.squares[:0], n)[:n]
	s.sums[0], s.squares[0] = sum, squares
	for i, v := range s.twice {
		sum, squares = sum+v, squares+v*v
		s.sums[i+1], s.squares[i+1] = sum, squares
	}
	s.usable = true
}

// measure computes the scales of the first count windows of a width.
func (s *Series) measure(width, count int) {
	if s.width != width {
		s.width, s.scales = width, s.scales[:0]
	}
	for from := len(s.twice) - width - len(s.scales); len(s.scales) < count; from-- {
		scale := 0.
		if motion := s.motion(from, width); motion > 0 {
			scale = 1 / math.Sqrt(motion)
		}
		s.scales = append(s.scales, scale)
	}
}

// motion is the sum of squared deviations from the mean of the window of twice at from; -1 if it is constant.
func (s *Series) motion(from, n int) float64 {
	sum, squares := s.sums[from+n]-s.sums[from], s.squares[from+n]-s.squares[from]
	motion := squares - sum*sum/float64(n)
	if motion <= 1e-9*max(squares, 1e-12) {
		return -1
	}
	return motion
}
