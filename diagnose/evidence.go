package diagnose

import (
	"math"
)

// evidence is what the time of a feature says about the stall of a region.
type evidence struct {
	correlation float64 // of moving averages, at lag
	lag         int     // intervals that the feature is earlier
	p           float64 // that a shifted series does as well at its best lag
	rise        float64 // at the onset: 0 none, 1 far beyond what it did before
	started     bool    // the job itself began with the onset
}

const (
	// average is over how many intervals, up to each, the moving averages run.
	average = 3
	// leastPairs is from how many pairs on a correlation counts.
	leastPairs = 8
	// lagDiscount is by how much less a correlation counts at the longest lag: a long lag is less likely, and
	// some lag fits any two series.
	lagDiscount = .4
	// leastP is the least probability that 30 values can be trusted with.
	leastP = 1e-4
)

// correlator correlates series with one region's stall. Its memory is used again.
type correlator struct {
	stall  []float64 // smoothed, the last of them now; NaN missing
	x      []float64
	smooth []float64
	byLag  []float64 // correlation by circular offset
	maxLag int
}

// setStall takes the stall of a region by slot, the last now.
func (c *correlator) setStall(stall []float64) {
	c.stall = movingAverage(c.stall[:0], stall)
}

// movingAverage appends the means of each value with the two before it.
func movingAverage(out, in []float64) []float64 {
	for i := range in {
		sum, n := 0., 0
		for _, v := range in[max(0, i-average+1) : i+1] {
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

// correlate finds the lag at which a feature, by slot with the last now, goes best with the stall, and how
// often shifted series would do as well: circular shifts keep a series' autocorrelation, and each may choose
// its best lag too.
func (c *correlator) correlate(x []float64) (e evidence) {
	e.p = 1
	c.smooth = movingAverage(c.smooth[:0], x)
	seen := len(c.smooth)
	lags := min(c.maxLag, max(0, seen-leastPairs))
	best := 0.
	for lag := 0; lag <= lags; lag++ {
		r := c.at(lag, false)
		if t := r * c.weight(lag); t > best {
			best, e.correlation, e.lag = t, r, lag
		}
	}
	if best <= leastCorrelation {
		if best == 0 {
			e.correlation = c.at(0, false)
		}
		return e
	}
	e.p = c.probability(best, seen, lags)
	return e
}

// leastCorrelation is below what a correlation is not worth a baseline.
const leastCorrelation = .25

func (c *correlator) weight(lag int) float64 {
	return 1 - lagDiscount*float64(lag)/float64(max(1, c.maxLag))
}

// at is the correlation at a lag; circular: the series goes on from its end at its beginning.
func (c *correlator) at(lag int, circular bool) float64 {
	n, seen := len(c.stall), len(c.smooth)
	var sx, sy, sxx, syy, sxy, pairs float64
	for t, y := range c.stall {
		i := seen - n + t - lag
		if i < 0 && circular {
			i = (i%seen + seen) % seen
		}
		if i < 0 || math.IsNaN(y) || math.IsNaN(c.smooth[i]) {
			continue
		}
		v := c.smooth[i]
		sx, sy, sxx, syy, sxy, pairs = sx+v, sy+y, sxx+v*v, syy+y*y, sxy+v*y, pairs+1
	}
	if pairs < leastPairs {
		return 0
	}
	vx, vy := sxx-sx*sx/pairs, syy-sy*sy/pairs
	if vx <= 1e-9*sxx || vy <= 1e-9*syy {
		return 0 // one of them does not move
	}
	return max(-1, min(1, (sxy-sx*sy/pairs)/math.Sqrt(vx*vy)))
}

// probability is how often a shifted series reaches best at its best lag. Where none of the shifts does, the
// tail of a normal distribution through their Fisher transforms goes on, not below leastP.
func (c *correlator) probability(best float64, seen, lags int) float64 {
	c.byLag = c.byLag[:0]
	for o := range seen {
		c.byLag = append(c.byLag, c.at(o, true))
	}
	reached, sum, squares, n := 0, 0., 0., 0.
	for shift := average; shift <= seen-average; shift++ { // shorter ones are the series itself
		top := -1.
		for lag := 0; lag <= lags; lag++ {
			top = max(top, c.byLag[(shift+lag)%seen]*c.weight(lag))
		}
		if top >= best {
			reached++
		}
		z := math.Atanh(min(.999, top))
		sum, squares, n = sum+z, squares+z*z, n+1
	}
	if n < 2 {
		return 1
	}
	rank := float64(1+reached) / (n + 1)
	if reached > 0 {
		return rank
	}
	mean := sum / n
	sd := math.Sqrt(max(1e-6, squares/n-mean*mean))
	tail := .5 * math.Erfc((math.Atanh(min(.999, best))-mean)/sd/math.Sqrt2)
	return max(leastP, min(rank, tail))
}

const (
	// settle is how many intervals around an onset may lie on either side of it.
	settle = 2
	// baseline is how many intervals before that what is usual comes from.
	baseline = 12
)

// riseAt is how far a series rises at a slot (an index) beyond what it did before: 0 not, 1 by twenty of its
// own deviations. Less than floor is no rise.
func riseAt(x []float64, onset int, floor float64) float64 {
	if onset < 0 || onset >= len(x) {
		return 0
	}
	var before, after []float64
	for i := max(0, onset-settle-baseline); i < onset-settle; i++ {
		if !math.IsNaN(x[i]) {
			before = append(before, x[i])
		}
	}
	for i := max(0, onset-settle+1); i <= min(len(x)-1, onset+settle); i++ {
		if !math.IsNaN(x[i]) {
			after = append(after, x[i])
		}
	}
	if len(before) == 0 || len(after) == 0 {
		return 0
	}
	usual := spreadOf(before)
	top := slicesMax(after)
	z := (top - usual.median) / (usual.scale + floor)
	if z <= 2 {
		return 0
	}
	return min(1, math.Log(z/2)/math.Log(10))
}

func slicesMax(v []float64) float64 {
	m := v[0]
	for _, x := range v {
		m = max(m, x)
	}
	return m
}

// onsetOf is the index at which a stall series began to be what it is now, or -1: it always was, as far as is
// known.
func onsetOf(stall []float64) int {
	n := len(stall)
	now, count := 0., 0.
	low := math.Inf(1)
	for i, v := range stall {
		if math.IsNaN(v) {
			continue
		}
		low = min(low, v)
		if i >= n-average {
			now, count = now+v, count+1
		}
	}
	if count == 0 {
		return -1
	}
	now /= count
	if last := stall[n-1]; !math.IsNaN(last) {
		now = max(now, last)
	}
	if now-low < 3 {
		return -1
	}
	limit := low + .4*(now-low)
	onset, gap := n, 0
	for i := n - 1; i >= 0 && gap < 2; i-- {
		switch {
		case math.IsNaN(stall[i]):
		case stall[i] >= limit:
			onset, gap = i, 0
		default:
			gap++
		}
	}
	if onset == 0 || onset == n {
		return -1
	}
	return onset
}
