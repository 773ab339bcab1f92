package correlation

import (
	"math"
	"slices"
)

// Series is a series made ready to be correlated at any lag. That is the same for all stalls that it is compared with in an
// interval. Its memory is used again.
type Series struct {
	Raw     []float64 // by slot, the last now; then Prepare
	x       []float64 // smoothed, with what is missing filled
	twice   []float64 // x twice, so that circular windows are slices
	sums    []float64 // running sums of twice
	squares []float64 // and of its squares
	scales  []float64 // of the windows of twice that are as long as width, by how many slots before the last they end: 1 by the root of their motion, 0 where they do not move
	width   int
	usable  bool      // there is enough of it, and it moves
	byLag   []float64 // correlations with the stall it was last compared with, by circular lag, as far as they are known
}

// movingAverage appends the means of each value with the two before it.
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

// Prepare takes Raw as it is now. What is missing is filled with what was measured before it.
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
	for i := len(s.x) - 1; i >= 0; i-- { // before the first that was measured: as it was then
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

// measure finds the scales of the windows that are as long as the stall and end up to so many slots before the last.
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

// motion is the sum of the squares of what a window of twice differs by from its mean; -1 where it does not move.
func (s *Series) motion(from, n int) float64 {
	sum, squares := s.sums[from+n]-s.sums[from], s.squares[from+n]-s.squares[from]
	motion := squares - sum*sum/float64(n)
	if motion <= 1e-9*max(squares, 1e-12) {
		return -1
	}
	return motion
}
