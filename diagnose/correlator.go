package diagnose

import "math"

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
	stall []float64 // smoothed and made to have mean 0, the last of them now; 0 where it is missing
	power float64   // sum of its squares
	valid int       // how many were measured
	*lagged
	circle  []float64 // byLag, and its beginning once more
	tops    []float64 // the best of each shift
	shifts  []bool    // that reach as much
	weights []float64 // by lag
	maxLag  int
}

// lagged is a feature made ready to be correlated at any lag. It is the same for all regions of an interval.
type lagged struct {
	raw     []float64 // by slot, the last now
	x       []float64 // smoothed, with what is missing filled
	twice   []float64 // x twice, so that circular windows are slices
	sums    []float64 // running sums of twice
	squares []float64 // and of its squares
	motions []float64 // of the windows of twice that are as long as width, by where they begin
	width   int
	usable  bool      // there is enough of it, and it moves
	byLag   []float64 // correlations with the stall it was last compared with, by circular lag, as far as they are known
	last    change    // that was asked for
}

// setStall takes the stall of a region by slot, the last now.
func (c *correlator) setStall(stall []float64) {
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

// correlate finds the lag at which a feature goes best with the stall. p is 1 where
// the correlation is not worth a baseline; else it is to be asked for by significance.
func (c *correlator) correlate(x *lagged) (e evidence) {
	e.p = 1
	if c.valid < leastPairs || c.power < 1e-9 || !x.usable {
		return e
	}
	c.lagged = x
	seen := len(c.x)
	lags := c.lags(seen)
	x.byLag = x.byLag[:0]
	x.measure(len(c.stall))
	c.extend(min(lags, seen-len(c.stall)) + 1)
	best := 0.
	for lag := 0; lag <= lags; lag++ {
		r := c.at(lag)
		if t := r * c.weight(lag); t > best {
			best, e.correlation, e.lag = t, r, lag
		}
	}
	if best <= leastCorrelation {
		if best == 0 {
			e.correlation = c.at(0)
		}
		return e
	}
	e.p, e.weighted = 0, best
	return e
}

// significance is how often shifted series would correlate as well: circular shifts keep a series'
// autocorrelation, and each may choose its best lag too.
func (c *correlator) significance(x *lagged, e *evidence) float64 {
	if e.p == 1 || !x.usable {
		return 1
	}
	c.lagged = x
	return c.probability(e.weighted, len(c.x), c.lags(len(c.x)))
}

// lags is how many are tried: at each, two thirds of the stall have a partner, since few pairs agree by chance.
func (c *correlator) lags(seen int) int {
	return max(0, min(c.maxLag, seen-max(leastPairs, 2*len(c.stall)/3)))
}

// set takes a feature by slot, the last now, from raw; what is missing is filled with what was measured before it.
func (c *lagged) set() {
	c.usable, c.width, c.last = false, 0, change{onset: -1}
	c.x = movingAverage(c.x[:0], c.raw)
	known, last := 0, math.NaN()
	for i, v := range c.x {
		if math.IsNaN(v) {
			c.x[i] = last
			continue
		}
		known, last = known+1, v
	}
	if known < leastPairs {
		return
	}
	for i := len(c.x) - 1; i >= 0; i-- { // before the first that was measured: as it was then
		if math.IsNaN(c.x[i]) {
			c.x[i] = c.x[i+1]
		}
	}
	c.twice = append(append(c.twice[:0], c.x...), c.x...)
	c.sums, c.squares = append(c.sums[:0], 0), append(c.squares[:0], 0)
	scale := 0.
	for _, v := range c.x {
		scale = max(scale, math.Abs(v))
	}
	if scale == 0 {
		return
	}
	for i, v := range c.twice {
		v /= scale
		c.twice[i] = v
		c.sums, c.squares = append(c.sums, c.sums[i]+v), append(c.squares, c.squares[i]+v*v)
	}
	c.usable = true
}

// leastCorrelation is below what a correlation is not worth a baseline.
const leastCorrelation = .25

func (c *correlator) weight(lag int) float64 { return c.weights[lag] }

// setLags says how many lags are tried.
func (c *correlator) setLags(most int) {
	if c.maxLag == most && len(c.weights) > 0 {
		return
	}
	c.maxLag, c.weights = most, c.weights[:0]
	for lag := range most + 1 {
		c.weights = append(c.weights, 1-lagDiscount*float64(lag)/float64(max(1, most)))
	}
}

// at is the correlation with the feature so many slots earlier; where that is before the first that was seen,
// of those pairs alone that are behind it.
func (c *correlator) at(lag int) float64 {
	n, seen := len(c.stall), len(c.x)
	if first := seen - n - lag; first < 0 {
		return c.window(seen, c.stall[min(n, -first):])
	}
	return c.byLag[lag]
}

// extend finds the correlations with the circular windows of the feature that end up to so many slots before the last.
// Four windows are summed side by side: each addition to one sum waits for the one before it.
func (c *correlator) extend(count int) {
	n, seen := len(c.stall), len(c.x)
	for lag := len(c.byLag); lag < count; lag = len(c.byLag) {
		from := 2*seen - n - lag
		if n < leastPairs || lag+4 > seen {
			c.byLag = append(c.byLag, c.window(from, c.stall))
			continue
		}
		a, b, d, e := fourDots(c.stall, c.twice[from-3:from+n])
		c.byLag = append(c.byLag, c.normal(from, a), c.normal(from-1, b), c.normal(from-2, d), c.normal(from-3, e))
	}
}

// fourDots are the products of y with the windows of x, which has three values more, that begin at its fourth value, its
// third, its second and its first.
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

// normal is the correlation with the window of twice that begins at an index, by their product: the stall has mean 0.
func (c *correlator) normal(from int, dot float64) float64 {
	motion := c.motions[from]
	if motion < 0 {
		return 0
	}
	return max(-1, min(1, dot/math.Sqrt(motion*c.power)))
}

// measure finds the motions of the windows that are as long as the stall.
func (c *lagged) measure(width int) {
	if c.width == width {
		return
	}
	c.width, c.motions = width, c.motions[:0]
	for from := 0; from+width <= len(c.twice); from++ {
		c.motions = append(c.motions, c.motion(from, width))
	}
}

// motion is the sum of the squares of what a window of twice differs by from its mean; -1 where it does not move.
func (c *lagged) motion(from, n int) float64 {
	sum, squares := c.sums[from+n]-c.sums[from], c.squares[from+n]-c.squares[from]
	motion := squares - sum*sum/float64(n)
	if motion <= 1e-9*max(squares, 1e-12) {
		return -1
	}
	return motion
}

// window is the correlation of stall, or of a part of it, with the window of twice that begins at an index.
func (c *correlator) window(from int, stall []float64) float64 {
	n := len(stall)
	if n < leastPairs {
		return 0
	}
	x := c.twice[from : from+n]
	dot, sy, syy := 0., 0., 0.
	for i, y := range stall {
		dot += y * x[i]
	}
	if n == len(c.stall) {
		return c.normal(from, dot)
	}
	for _, y := range stall {
		sy, syy = sy+y, syy+y*y
	}
	pairs, motion, vy := float64(n), c.motion(from, n), 0.
	if vy = syy - sy*sy/pairs; motion < 0 || vy <= 1e-9*c.power {
		return 0 // one of them does not move
	}
	return max(-1, min(1, (dot-(c.sums[from+n]-c.sums[from])*sy/pairs)/math.Sqrt(motion*vy)))
}

// probability is how often a shifted series reaches best at its best lag. Where none of the shifts does, the
// tail of a normal distribution through their Fisher transforms goes on, not below leastP.
func (c *correlator) probability(best float64, seen, lags int) float64 {
	shifts := max(0, seen-2*average+1) // shorter ones are the series itself
	if shifts < 2 {
		return 1
	}
	c.extend(seen)
	if reached := c.reached(best, seen, lags, shifts); reached > 0 {
		return float64(1+reached) / float64(shifts+1)
	}
	c.circle = append(append(c.circle[:0], c.byLag[:seen]...), c.byLag[:lags]...)
	c.tops = c.tops[:0]
	weights := c.weights[:lags+1]
	for shift := average; shift <= seen-average; shift++ {
		top := -1.
		for lag, r := range c.circle[shift:][:len(weights)] {
			if t := r * weights[lag]; t > top {
				top = t
			}
		}
		c.tops = append(c.tops, top)
	}
	return max(leastP, min(1/float64(shifts+1), normalTail(best, c.tops)))
}

// reached is how many shifts reach best at some lag; counting stops where the p-value exceeds hopeless.
func (c *correlator) reached(best float64, seen, lags, shifts int) (n int) {
	c.shifts = append(c.shifts[:0], make([]bool, seen)...)
	for at, r := range c.byLag[:seen] {
		for lag := 0; lag <= lags && r*c.weights[lag] >= best; lag++ { // weights fall with the lag
			shift := at - lag
			if shift < 0 {
				shift += seen
			}
			if shift >= average && shift <= seen-average && !c.shifts[shift] {
				c.shifts[shift] = true
				if n++; float64(n) > hopeless*float64(shifts) {
					return n
				}
			}
		}
	}
	return n
}

// hopeless is the p-value above which a correlation counts as chance, however high it is.
const hopeless = .3

// normalTail is the probability of a correlation or a higher one, by a normal distribution through the Fisher
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
