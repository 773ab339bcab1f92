package merging

import (
	"math"
	"slices"

	"github.com/giverny/giverny/segment/linkset"
)

// noiseEstimator estimates the noise by robust statistics (quartiles, medians, a low quantile of
// differences), which regions do not affect while most of the fabric is background. It keeps only
// working memory: the results are the background and noiseModel it returns.
type noiseEstimator struct {
	adj           *linkset.Adjacency
	sigmaPerRange []float64 // by number of values at a switch: standard deviations per range; see expectedRange

	histogram      [valueBins]int32
	sigmaHistogram [sigmaBins]int32
	slopeHistogram [slopeBins]int32
	sample         []float32
}

// background is the distribution of values outside all regions, in percent points.
type background struct {
	sigma      float64 // standard deviation of the noise there
	mean       float64
	thresholds thresholds
}

// thresholds are for hysteresis thresholding (Canny, IEEE PAMI 8, 1986), in percent: a link at or above
// certain is a candidate, one between hot and certain only if the mean around it reaches context.
type thresholds struct{ hot, certain, context float32 }

// noiseModel is the noise as a function of the stall: its standard deviation is base at zero stall
// and increases by slope per point.
type noiseModel struct {
	base, slope float64 // percent points; per point
	background  float64 // mean of the background, percent
}

const (
	minBase      = .05 // percent points: prevents splitting noiseless data at every step
	valueBins    = 4096
	binsPerPoint = valueBins / 100.
	sigmaBits    = 18 // low-order bits of a float32 ignored by the bins of deviations: 32 bins per power of 2
	sigmaBins    = 1 << (31 - sigmaBits)

	// Growth of the noise: a low quantile, because many pairs span an edge; a prior for
	// few pairs; and a bound.
	slopeQuantile  = .35
	slopePairs     = 50  // pairs that the prior is worth
	slopePrior     = .03 // of the base, per point
	maxSlope       = .3
	slopeBins      = 1200
	binsPerSlope   = slopeBins / maxSlope
	maxSlopeSample = 64 // links at a switch
)

func newNoiseEstimator(adj *linkset.Adjacency) noiseEstimator {
	most := 0
	for s := range int32(adj.NumSwitches()) {
		most = max(most, len(adj.Links(s)))
	}
	n := noiseEstimator{adj: adj, sigmaPerRange: make([]float64, most+1)}
	for d := 2; d <= most; d++ {
		n.sigmaPerRange[d] = 1 / expectedRange(d)
	}
	return n
}

// expectedRange is the expected range of n normal values with deviation 1: between the
// second largest and the second smallest, for less than four values between the largest
// and the smallest (Blom, Statistical Estimates and Transformed Beta-Variables, 1958).
func expectedRange(n int) float64 {
	rank := float64(n)
	if n >= 4 {
		rank--
	}
	p := (rank - .375) / (float64(n) + .25)
	return 2 * math.Sqrt2 * math.Erfinv(2*p-1)
}

// background estimates location and scale of the background: the median of all values,
// and their interquartile range while three quarters of the fabric are calm, otherwise
// the median deviation at a switch if that is smaller.
func (n *noiseEstimator) background(values []float32, minMean float64) background {
	clear(n.histogram[:])
	measured := int32(0)
	for _, v := range values {
		if v != linkset.Missing {
			n.histogram[min(valueBins-1, int(v*binsPerPoint))]++
			measured++
		}
	}
	median := float64(linkset.Quantile(n.histogram[:], measured/2)) / binsPerPoint
	low, high := linkset.Quantile(n.histogram[:], measured/4), linkset.Quantile(n.histogram[:], measured/4*3)
	const rangePerSigma = 1.349 // interquartile range of normal values
	sigma := float64(max(1, high-low)) / binsPerPoint / rangePerSigma
	if float64(high)/binsPerPoint >= hotShare*minMean {
		sigma = min(sigma, n.medianSwitchSigma(values))
	}
	b := background{sigma: max(minBase, sigma)}
	b.thresholds = thresholdsOf(median, b.sigma, minMean)
	b.mean = n.meanBelow(b.thresholds.hot)
	return b
}

// thresholdsOf determines the thresholds. On a fabric that is stalled everywhere there is no
// background to exceed: its links need no context.
func thresholdsOf(median, sigma, minMean float64) thresholds {
	hot := hotShare * minMean
	if median >= hot {
		return thresholds{hot: float32(hot)}
	}
	return thresholds{
		hot:     float32(max(hot, median+hotSigmas*sigma)),
		certain: float32(median + certainSigmas*sigma),
		context: float32(median + hotSigmas*sigma),
	}
}

// meanBelow is the mean of the values below a threshold, from the histogram.
func (n *noiseEstimator) meanBelow(threshold float32) float64 {
	sum, count := 0., 0.
	for i, c := range n.histogram[:min(valueBins, int(float64(threshold)*binsPerPoint))] {
		sum += float64(c) * (float64(i) + .5) / binsPerPoint
		count += float64(c)
	}
	return sum / max(1, count)
}

// medianSwitchSigma is the median of the switches' deviations.
func (n *noiseEstimator) medianSwitchSigma(values []float32) float64 {
	clear(n.sigmaHistogram[:])
	switches := int32(0)
	for s := range int32(n.adj.NumSwitches()) {
		if sigma, ok := n.switchSigma(values, n.adj.Links(s)); ok {
			n.sigmaHistogram[math.Float32bits(float32(sigma))>>sigmaBits]++
			switches++
		}
	}
	if switches == 0 {
		return math.Inf(1)
	}
	bin := uint32(linkset.Quantile(n.sigmaHistogram[:], switches/2))
	return float64(math.Float32frombits(bin<<sigmaBits | 1<<(sigmaBits-1)))
}

// switchSigma estimates the deviation of a few links' values from their range.
func (n *noiseEstimator) switchSigma(values []float32, links []int32) (sigma float64, ok bool) {
	if len(links) >= largeSwitch {
		return n.largeSwitchSigma(values, links)
	}
	low, low2, high, high2 := int32(math.MaxInt32), int32(math.MaxInt32), int32(-1), int32(-1)
	measured := 0
	for _, l := range links {
		v := int32(math.Float32bits(values[l])) // ordered like the values, since only missing ones are negative
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
	return float64(math.Float32frombits(uint32(high))-math.Float32frombits(uint32(low))) * n.sigmaPerRange[measured], true
}

// largeSwitch is the number of links from which a switch is likely to touch several
// regions. Gaps between the sorted values separate their levels: the two widest are
// excluded.
const largeSwitch = 8

func (n *noiseEstimator) largeSwitchSigma(values []float32, links []int32) (sigma float64, ok bool) {
	n.sample = n.sample[:0]
	for _, l := range links {
		if v := values[l]; v != linkset.Missing {
			n.sample = append(n.sample, v)
		}
	}
	if len(n.sample) < largeSwitch {
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
	within := float64(max(0, inner[len(inner)-1]-inner[0]-widest-second))
	return within * n.sigmaPerRange[len(n.sample)] / rangeWithoutGaps(len(n.sample)), true
}

// rangeWithoutGaps is the share of the expected range of n normal values that remains,
// in the median, without the two widest gaps between them. The formula was fitted to
// simulated values, within 6%; TestRangeWithoutGaps repeats the simulation.
func rangeWithoutGaps(n int) float64 {
	d := float64(n)
	return 1 - (1.6+3.7/d)/math.Sqrt(d)
}

// model fits the growth of the noise with the stall: the slope that explains
// slopeQuantile of the differences between hot candidates at one switch.
func (n *noiseEstimator) model(values []float32, b background, candidates *candidates) noiseModel {
	perPoint := 1 / (2 * math.Erfinv(slopeQuantile)) // for the difference of two normal values
	clear(n.slopeHistogram[:])
	pairs := int32(slopePairs)
	n.slopeHistogram[min(slopeBins-1, int(slopePrior*b.sigma*binsPerSlope))] = slopePairs
	for _, s := range candidates.mergedSwitches {
		n.sample = n.sample[:0]
		for _, i := range candidates.at(s) {
			if v := values[candidates.links[i]]; v >= b.thresholds.hot {
				n.sample = append(n.sample, v)
			}
		}
		n.subsample()
		for i, x := range n.sample {
			for _, y := range n.sample[:i] {
				pairs++
				rise := math.Abs(float64(x-y))*perPoint - b.sigma
				if rise <= 0 {
					n.slopeHistogram[0]++
					continue
				}
				n.slopeHistogram[min(slopeBins-1, int(rise/(float64(x+y)/2)*binsPerSlope))]++
			}
		}
	}
	slope := float64(linkset.Quantile(n.slopeHistogram[:], int32(slopeQuantile*float64(pairs)))) / binsPerSlope
	return noiseModel{base: b.sigma, slope: slope, background: b.mean}
}

// subsample reduces a large sample to one with a similar distribution.
func (n *noiseEstimator) subsample() {
	if len(n.sample) <= maxSlopeSample {
		return
	}
	slices.Sort(n.sample)
	for i := range maxSlopeSample {
		n.sample[i] = n.sample[i*len(n.sample)/maxSlopeSample]
	}
	n.sample = n.sample[:maxSlopeSample]
}

// stabilise is the variance-stabilising transform (Bartlett, Biometrics 3, 1947) of
// a stall into a level: the integral of 1/(base + slope v), in which the noise has
// deviation 1 at every stall.
func (m noiseModel) stabilise(percent float64) float64 {
	if m.isConstant() {
		return percent / m.base
	}
	return math.Log1p(m.slope/m.base*percent) / m.slope
}

// unstabilise is the inverse of stabilise: the stall for a level.
func (m noiseModel) unstabilise(level float64) float64 {
	if m.isConstant() {
		return level * m.base
	}
	return math.Expm1(level*m.slope) * m.base / m.slope
}

// isConstant reports whether the noise grows negligibly over the whole range.
func (m noiseModel) isConstant() bool { return m.slope*100 < 1e-3*m.base }

// sigma is the standard deviation of the noise at a stall, in percent points.
func (m noiseModel) sigma(percent float64) float64 { return m.base + m.slope*percent }
