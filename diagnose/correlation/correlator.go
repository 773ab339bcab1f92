// Package correlation computes how well a series, such as the traffic of a job, correlates with the stall of a region,
// at which lag, and how likely that is by chance. Some lag fits any two smooth series, so the null distribution is that
// of the series' own circular shifts, each at its best lag. Series are by time slot, the newest last, NaN where nothing
// was measured.
package correlation

import (
	"math"
	"slices"
)

const (
	// Average is the width of the trailing moving averages, in intervals.
	Average = 3
	// LeastPairs is the number of pairs below which a correlation is not computed.
	LeastPairs = 8
	// Least is the correlation below which no p-value is computed.
	Least = .25
	// lagDiscount is by how much a correlation at the longest lag is discounted: a long lag is less likely, and some
	// lag fits any two series.
	lagDiscount = .4
	// leastPower is the least sum of squares of a stall that varies.
	leastPower = 1e-9
	// leastP is the smallest p-value that about 30 values support.
	leastP = 1e-4
	// insignificant is the p-value from which on a correlation counts as chance, however high it is.
	insignificant = .3
)

// Result is the best correlation of a series with a stall.
type Result struct {
	Correlation float64 // of moving averages, at Lag
	Lag         int     // intervals by which the series leads the stall
	P           float64 // p-value: how often a shifted series does as well at its best lag; 0 until Assess
	weighted    float64 // Correlation, discounted by its lag
}

// Fit is the strength of the evidence, 0 to 1; 0 where shifted series often do as well.
func (r *Result) Fit() float64 {
	if r.Correlation <= Least {
		return 0
	}
	return (r.Correlation - Least) / (1 - Least) * max(0, 1-r.P/insignificant)
}

// Correlator correlates series with the stall of one region. It reuses its memory.
type Correlator struct {
	stall   []float64 // smoothed, mean 0, the newest last; 0 where missing
	power   float64   // sum of its squares
	scale   float64   // 1/sqrt(power)
	valid   int       // slots of stall that were measured
	with    *Series
	circle  []float64 // byLag, followed by its first values again
	higher  []int     // by index in circle: the next index that can be better, at a longer lag
	tops    []float64 // best weighted correlation of each shift
	shifts  []bool    // shifts that reach the observed correlation
	weights []float64 // by lag
	maxLag  int
}

// SetStall sets the stall of a region, by slot, the newest last.
func (c *Correlator) SetStall(stall []float64) {
	c.stall, c.valid = movingAverage(c.stall[:0], stall), 0
	sum := 0.
	for _, v := range c.stall {
		if !math.IsNaN(v) {
			sum, c.valid = sum+v, c.valid+1
		}
	}
	c.power = 0
	for i, v := range c.stall {
		if math.IsNaN(v) {
			c.stall[i] = 0
			continue
		}
		c.stall[i] = v - sum/float64(max(1, c.valid))
		c.power += c.stall[i] * c.stall[i]
	}
	c.scale = 1 / math.Sqrt(max(leastPower, c.power))
}

// Correlate finds the lag at which a series correlates best with the stall. P is 1 where the correlation is too low to
// be tested; otherwise Assess computes it.
func (c *Correlator) Correlate(x *Series) (r Result) {
	r.P = 1
	if c.valid < LeastPairs || c.power < leastPower || !x.usable {
		return r
	}
	c.with = x
	seen := len(c.with.x)
	lags := c.lags(seen)
	x.byLag = x.byLag[:0]
	c.extend(min(lags, seen-len(c.stall)) + 1)
	best := 0.
	whole := max(0, min(lags, seen-len(c.stall))+1) // lags at which every stall value has a partner
	for lag, v := range x.byLag[:whole] {
		if t := v * c.weights[lag]; t > best {
			best, r.Correlation, r.Lag = t, v, lag
		}
	}
	for lag := whole; lag <= lags; lag++ {
		v := c.at(lag)
		if t := v * c.weights[lag]; t > best {
			best, r.Correlation, r.Lag = t, v, lag
		}
	}
	if best <= Least {
		if best == 0 {
			r.Correlation = c.at(0)
		}
		return r
	}
	r.P, r.weighted = 0, best
	return r
}

// Assess computes P, by a permutation test over circular shifts, for a correlation that Correlate did not rule out.
// Shifts keep the series' autocorrelation, and each is taken at its best lag too.
func (c *Correlator) Assess(x *Series, r *Result) {
	if r.P == 1 {
		return
	}
	c.with = x
	r.P = c.probability(r.weighted, len(x.x), c.lags(len(x.x)))
}

// lags is the longest lag to try: at least two thirds of the stall keep a partner, since few pairs agree by chance.
func (c *Correlator) lags(seen int) int {
	return max(0, min(c.maxLag, seen-max(LeastPairs, 2*len(c.stall)/3)))
}

// SetLags sets the longest lag to try.
func (c *Correlator) SetLags(most int) {
	if c.maxLag == most && len(c.weights) > 0 {
		return
	}
	c.maxLag, c.weights = most, c.weights[:0]
	for lag := range most + 1 {
		c.weights = append(c.weights, 1-lagDiscount*float64(lag)/float64(max(1, most)))
	}
}

// at is the correlation with the series shifted by a lag. Where that reaches before the first slot, only the pairs
// after it count.
func (c *Correlator) at(lag int) float64 {
	n, seen := len(c.stall), len(c.with.x)
	if first := seen - n - lag; first < 0 {
		return c.window(seen, c.stall[min(n, -first):])
	}
	return c.with.byLag[lag]
}

// extend computes the correlations with the first count circular windows of the series, by how many slots before the
// newest they end. Four windows are summed side by side, because each addition to one sum waits for the one before it.
func (c *Correlator) extend(count int) {
	n, x := len(c.stall), c.with
	seen := len(x.x)
	if count > len(x.byLag) {
		x.measure(n, min(count+3, seen))
	}
	for lag := len(x.byLag); lag < count; lag = len(x.byLag) {
		from := 2*seen - n - lag
		if n < LeastPairs || lag+4 > seen {
			x.byLag = append(x.byLag, c.window(from, c.stall))
			continue
		}
		a, b, d, e := fourDots(c.stall, x.twice[from-3:from+n])
		scales := x.scales[lag:][:4]
		x.byLag = append(x.byLag, clamped(a*scales[0]*c.scale), clamped(b*scales[1]*c.scale),
			clamped(d*scales[2]*c.scale), clamped(e*scales[3]*c.scale))
	}
}

// fourDots are the dot products of y with four windows of x, which is three values longer than y. The windows begin at
// its fourth, third, second and first value.
func fourDots(y, x []float64) (a, b, c, d float64) {
	third, second, first, last := x[2], x[1], x[0], x[3:][:len(y)]
	for i, v := range y {
		fourth := last[i]
		a += v * fourth
		b += v * third
		c += v * second
		d += v * first
		third, second, first = fourth, third, second
	}
	return a, b, c, d
}

// window is the correlation of stall, or a part of it, with the window of twice that begins at from.
func (c *Correlator) window(from int, stall []float64) float64 {
	n := len(stall)
	if n < LeastPairs {
		return 0
	}
	x := c.with.twice[from : from+n]
	dot, sy, syy := 0., 0., 0.
	for i, y := range stall {
		dot += y * x[i]
	}
	if n == len(c.stall) {
		return clamped(dot * c.with.scales[len(c.with.twice)-n-from] * c.scale) // the whole stall has mean 0
	}
	for _, y := range stall {
		sy, syy = sy+y, syy+y*y
	}
	pairs, motion, vy := float64(n), c.with.motion(from, n), 0.
	if vy = syy - sy*sy/pairs; motion < 0 || vy <= 1e-9*c.power {
		return 0 // one of them is constant
	}
	return clamped((dot - (c.with.sums[from+n]-c.with.sums[from])*sy/pairs) / math.Sqrt(motion*vy))
}

// clamped limits a correlation to [-1, 1] against rounding.
func clamped(r float64) float64 {
	if r > 1 {
		return 1
	}
	if r < -1 {
		return -1
	}
	return r
}

// probability is how often a shifted series reaches best at its best lag. Where none does, it is the tail of a normal
// distribution fitted to the shifts' Fisher transforms, not below leastP.
func (c *Correlator) probability(best float64, seen, lags int) float64 {
	shifts := max(0, seen-2*Average+1) // shorter shifts overlap the series itself
	if shifts < 2 {
		return 1
	}
	c.extend(seen)
	if reached := c.reached(best, seen, lags, shifts); reached > 0 {
		return float64(1+reached) / float64(shifts+1)
	}
	c.circle = append(append(c.circle[:0], c.with.byLag[:seen]...), c.with.byLag[:lags]...)
	c.tops = c.tops[:0]
	c.findHigher()
	weights := c.weights[:lags+1]
	for shift := Average; shift <= seen-Average; shift++ {
		top := -1.
		for lag := 0; lag < len(weights); {
			at := shift + lag
			if t := c.circle[at] * weights[lag]; t > top {
				top = t
			}
			lag = c.higher[at] - shift
		}
		c.tops = append(c.tops, top)
	}
	return max(leastP, min(1/float64(shifts+1), normalTail(best, c.tops)))
}

// findHigher finds, for each correlation on the circle, the next higher one: weights fall with the lag, so that none
// between can be better. After one below 0, any may be better.
func (c *Correlator) findHigher() {
	n := len(c.circle)
	c.higher = slices.Grow(c.higher[:0], n)[:n]
	for at := n - 1; at >= 0; at-- {
		next := at + 1
		for c.circle[at] >= 0 && next < n && c.circle[next] <= c.circle[at] {
			next = c.higher[next]
		}
		c.higher[at] = next
	}
}

// reached counts the shifts that reach best at some lag. It stops once the p-value exceeds insignificant.
func (c *Correlator) reached(best float64, seen, lags, shifts int) (n int) {
	c.shifts = append(c.shifts[:0], make([]bool, seen)...)
	for at, r := range c.with.byLag[:seen] {
		for lag := 0; lag <= lags && r*c.weights[lag] >= best; lag++ { // weights fall with the lag
			shift := at - lag
			if shift < 0 {
				shift += seen
			}
			if shift >= Average && shift <= seen-Average && !c.shifts[shift] {
				c.shifts[shift] = true
				if n++; float64(n) > insignificant*float64(shifts) {
					return n
				}
			}
		}
	}
	return n
}

// normalTail is the probability of a correlation of at least r under a normal distribution fitted to the Fisher
// transforms of others.
func normalTail(r float64, others []float64) float64 {
	sum, squares, n := 0., 0., float64(len(others))
	for _, o := range others {
		z := math.Atanh(max(-.999, min(.999, o)))
		sum, squares = sum+z, squares+z*z
	}
	mean := sum / n
	sd := math.Sqrt(max(1e-6, squares/n-mean*mean))
	return .5 * math.Erfc((math.Atanh(min(.999, r))-mean)/sd/math.Sqrt2)
}
