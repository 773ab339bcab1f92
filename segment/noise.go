package segment

import (
	"math"
	"slices"
)

// noise is what values differ by without cause: its standard deviation is base
// at no stall and grows by slope per point of stall. Both are medians or the
// like, which regions do not move, as long as most of the fabric is calm.
type noise struct {
	adj         *adjacency
	base, slope float64 // percent points; per point
	calm        float64 // mean of calm links, percent
	median      float64 // of all links, percent
	cut         float64 // what parts calm from hot, percent

	values    [valueBins]int32
	spreads   [spreadBins]int32
	slopes    [slopeBins]int32
	perSpread []float64 // by number of links at a switch: deviations per spread
	sample    []float32
}

const (
	minBase      = .05 // percent points: keeps data without noise from being cut at every step
	valueBins    = 4096
	binsPerPoint = valueBins / 100.
	spreadBits   = 18 // of a float32 that a bin of spreads leaves out: 32 bins per power of 2
	spreadBins   = 1 << (31 - spreadBits)

	// Growth of the noise: a low quantile, because borders lie between many
	// pairs; a prior, for when pairs are few; and a bound.
	slopeQuantile  = .35
	slopePairs     = 50  // pairs that the prior counts for
	slopePrior     = .03 // of the base, per point
	maxSlope       = .3
	slopeBins      = 1200
	binsPerSlope   = slopeBins / maxSlope
	maxSlopeSample = 64 // links at a switch
)

func newNoise(adj *adjacency) noise {
	most := 0
	for s := range int32(adj.numSwitches()) {
		most = max(most, len(adj.links(s)))
	}
	n := noise{adj: adj, perSpread: make([]float64, most+1)}
	for d := 2; d <= most; d++ {
		n.perSpread[d] = 1 / expectedSpread(d)
	}
	return n
}

// expectedSpread is that of n normal values of deviation 1: between the second
// largest and the second smallest, of less than four values between the largest
// and the smallest (Blom, Statistical Estimates and Transformed Beta-Variables,
// 1958).
func expectedSpread(n int) float64 {
	rank := float64(n)
	if n >= 4 {
		rank--
	}
	p := (rank - .375) / (float64(n) + .25)
	return 2 * math.Sqrt2 * math.Erfinv(2*p-1)
}

// measure finds the median of all values and the base: from the quartiles of all
// if most of the fabric is calm, or else from the spread at each switch if that
// is less.
func (n *noise) measure(values []float32, minMean float64) {
	clear(n.values[:])
	measured := int32(0)
	for _, v := range values {
		if v != missing {
			n.values[min(valueBins-1, int(v*binsPerPoint))]++
			measured++
		}
	}
	n.median = float64(quantile(n.values[:], measured/2)) / binsPerPoint
	low, high := quantile(n.values[:], measured/4), quantile(n.values[:], measured/4*3)
	const perSigma = 1.349 // between the quartiles of normal values
	n.base = float64(max(1, high-low)) / binsPerPoint / perSigma
	if float64(high)/binsPerPoint >= hotShare*minMean {
		n.base = min(n.base, n.spread(values))
	}
	n.base = max(minBase, n.base)
}

// spread is the median of the deviations at the switches.
func (n *noise) spread(values []float32) float64 {
	clear(n.spreads[:])
	switches := int32(0)
	for s := range int32(n.adj.numSwitches()) {
		if sigma, ok := n.atSwitch(values, n.adj.links(s)); ok {
			n.spreads[math.Float32bits(float32(sigma))>>spreadBits]++
			switches++
		}
	}
	if switches == 0 {
		return math.Inf(1)
	}
	bin := uint32(quantile(n.spreads[:], switches/2))
	return float64(math.Float32frombits(bin<<spreadBits | 1<<(spreadBits-1)))
}

// atSwitch estimates the deviation of the values of a few links.
func (n *noise) atSwitch(values []float32, links []int32) (sigma float64, ok bool) {
	if len(links) >= manyLinks {
		return n.atLargeSwitch(values, links)
	}
	low, low2, high, high2 := int32(math.MaxInt32), int32(math.MaxInt32), int32(-1), int32(-1)
	measured := 0
	for _, l := range links {
		v := int32(math.Float32bits(values[l])) // ordered like the values, as none is negative but missing
		if v < 0 {
			continue
		}
		measured++
		low, low2 = min(low, v), min(low2, max(low, v))
		high, high2 = max(high, v), max(high2, min(high, v))
	}
	if measured < 2 {
		return 0, false
	}
	if measured >= 4 {
		low, high = low2, high2
	}
	return float64(math.Float32frombits(uint32(high))-math.Float32frombits(uint32(low))) * n.perSpread[measured], true
}

// manyLinks is how many links a switch has that several regions are likely to
// reach. Their levels are told by gaps between values: the two widest do not count.
const manyLinks = 8

func (n *noise) atLargeSwitch(values []float32, links []int32) (sigma float64, ok bool) {
	n.sample = n.sample[:0]
	for _, l := range links {
		if v := values[l]; v != missing {
			n.sample = append(n.sample, v)
		}
	}
	if len(n.sample) < manyLinks {
		return 0, false
	}
	slices.Sort(n.sample)
	inner := n.sample[1 : len(n.sample)-1]
	widest, second := float32(0), float32(0)
	for i := 1; i < len(inner); i++ {
		gap := inner[i] - inner[i-1]
		second = max(second, min(widest, gap))
		widest = max(widest, gap)
	}
	d := float64(len(n.sample))
	left := 1 - (1.6+3.7/d)/math.Sqrt(d) // of the spread of normal values, by simulation, within 6%
	return float64(max(0, inner[len(inner)-1]-inner[0]-widest-second)) * n.perSpread[len(n.sample)] / left, true
}

// quantile is the first bin with which more than rank have been counted.
func quantile(bins []int32, rank int32) int {
	for i, c := range bins {
		if rank -= c; rank < 0 {
			return i
		}
	}
	return len(bins) - 1
}

// marks are what parts hot links from calm ones, in percent.
type marks struct {
	hot    float32 // from here on a link is hot
	strong float32 // from here on whatever is around it
	warm   float32 // what the mean around other links must reach
}

// marks finds what is hot. A fabric that is stalled all over has no calm background
// to rise above.
func (n *noise) marks(minMean float64) marks {
	n.cut = hotShare * minMean
	var m marks
	if n.median < n.cut {
		n.cut = max(n.cut, n.median+hotSigmas*n.base)
		m.warm, m.strong = float32(n.median+hotSigmas*n.base), float32(n.median+strongSigmas*n.base)
	}
	m.hot = float32(n.cut)
	sum, count := 0., 0.
	for i, c := range n.values[:min(valueBins, int(n.cut*binsPerPoint))] {
		sum += float64(c) * (float64(i) + .5) / binsPerPoint
		count += float64(c)
	}
	n.calm = sum / max(1, count)
	return m
}

// fitSlope finds how the noise grows with the stall: the slope that explains
// slopeQuantile of the differences of hot links that share a switch.
func (n *noise) fitSlope(values []float32, hot *hotPart) {
	perPoint := 1 / (2 * math.Erfinv(slopeQuantile)) // of the difference of two normal values
	clear(n.slopes[:])
	pairs := int32(slopePairs)
	n.slopes[min(slopeBins-1, int(slopePrior*n.base*binsPerSlope))] = slopePairs
	for _, p := range hot.places {
		n.sample = n.sample[:0]
		for _, i := range hot.at(p) {
			if v := values[hot.links[i]]; float64(v) >= n.cut {
				n.sample = append(n.sample, v)
			}
		}
		n.thin()
		for i, x := range n.sample {
			for _, y := range n.sample[:i] {
				pairs++
				rise := math.Abs(float64(x-y))*perPoint - n.base
				if rise <= 0 {
					n.slopes[0]++
					continue
				}
				n.slopes[min(slopeBins-1, int(rise/(float64(x+y)/2)*binsPerSlope))]++
			}
		}
	}
	n.slope = float64(quantile(n.slopes[:], int32(slopeQuantile*float64(pairs)))) / binsPerSlope
}

// thin keeps of many values some that are distributed alike.
func (n *noise) thin() {
	if len(n.sample) <= maxSlopeSample {
		return
	}
	slices.Sort(n.sample)
	for i := range maxSlopeSample {
		n.sample[i] = n.sample[i*len(n.sample)/maxSlopeSample]
	}
	n.sample = n.sample[:maxSlopeSample]
}

// level is a stall in deviations of the noise, which it makes alike at every
// stall: the integral of 1/(base + slope v).
func (n *noise) level(percent float64) float64 {
	if n.slope*100 < 1e-3*n.base {
		return percent / n.base
	}
	return math.Log1p(n.slope/n.base*percent) / n.slope
}

// stall is the percentage of a level.
func (n *noise) stall(level float64) float64 {
	if n.slope*100 < 1e-3*n.base {
		return level * n.base
	}
	return math.Expm1(level*n.slope) * n.base / n.slope
}

// sigma is the standard deviation of the noise at a stall, in percent points.
func (n *noise) sigma(percent float64) float64 { return n.base + n.slope*percent }
