package backpressure

import (
	"math"
	"slices"

	"github.com/giverny/giverny/segment/linkset"
)

// Noise is the noise of a snapshot of directed links: standard deviation Base (percentage points) at no stall,
// growing by slope per point, around the Mean of calm links, of which the share zeros reads zero.
type Noise struct{ Base, slope, Mean, zeros float64 }

// Sigma is the standard deviation of readings of a stall, both in percent.
func (n Noise) Sigma(percent float64) float64 { return n.Base + n.slope*percent }

// MeanError bounds the difference due to chance between the means of a and b links at a stall.
func (n Noise) MeanError(percent float64, a, b int) float64 {
	return EqualDeviations*n.Sigma(percent)*math.Sqrt(1/float64(max(1, a))+1/float64(max(1, b))) + EqualShare*percent
}

const (
	EqualDeviations = 3
	EqualShare      = .02 // links of one cause differ a little by their other traffic
	// slope is a low quantile of the differences between links into one switch, with a prior worth slopePairs pairs.
	slopePrior       = .04
	slopePairs       = 20
	minSlope         = .01
	maxSlope         = .08
	maxLinksForSlope = 16

	minBase          = .05 // percentage points: keeps data without noise from being cut at every step
	calmBins         = 4096
	binsPerPercent   = calmBins / 100.
	pairQuantile     = .35
	maxPairSlope     = .3
	pairBins         = 1200
	binsPerPairSlope = pairBins / maxPairSlope
)

// NoiseEstimator estimates the noise of directed links. It only holds buffers.
type NoiseEstimator struct {
	histogram      [calmBins]int32
	slopeHistogram [pairBins]int32
	sample         []float32
}

// Calm estimates location (median) and scale (interquartile range) of the links below the least stall that counts:
// congestion does not move these, whatever part of a small fabric it takes.
func (n *NoiseEstimator) Calm(values []float32, minMean float64) Noise {
	clear(n.histogram[:])
	count, limit := int32(0), float32(max(minMean, 1))
	for _, v := range values {
		if v >= 0 && v < limit {
			n.histogram[int(v*binsPerPercent)]++
			count++
		}
	}
	low, high := linkset.Quantile(n.histogram[:], count/4), linkset.Quantile(n.histogram[:], count/4*3)
	const rangePerSigma = 1.349
	noise := Noise{Base: max(minBase, float64(high-low)/binsPerPercent/rangePerSigma)}
	if count > 0 {
		noise.zeros = float64(n.histogram[0]) / float64(count)
		noise.Mean = float64(linkset.Quantile(n.histogram[:], count/2)) / binsPerPercent
	}
	return noise
}

// FitSlope fits how noise grows with stall, from pairs of stalled links that enter one switch.
func (n *NoiseEstimator) FitSlope(t *Nodes) {
	clear(n.slopeHistogram[:])
	n.slopeHistogram[int(slopePrior*binsPerPairSlope)] = slopePairs
	pairs := int32(slopePairs)
	for _, d := range t.Entered {
		for _, hosts := range [2]bool{true, false} {
			n.sample = n.sample[:0]
			for _, i := range t.Into.Of(d) {
				if t.FromHost(i) == hosts {
					n.sample = append(n.sample, float32(t.Stall[i]))
				}
			}
			pairs += n.countPairs(t.Noise.Base)
		}
	}
	slope := float64(linkset.Quantile(n.slopeHistogram[:], int32(pairQuantile*float64(pairs)))) / binsPerPairSlope
	t.Noise.slope = min(maxSlope, max(minSlope, slope))
}

// countPairs counts the sample's pairs by slope.
func (n *NoiseEstimator) countPairs(base float64) (pairs int32) {
	slices.Sort(n.sample)
	if len(n.sample) > maxLinksForSlope {
		for i := range maxLinksForSlope {
			n.sample[i] = n.sample[i*len(n.sample)/maxLinksForSlope]
		}
		n.sample = n.sample[:maxLinksForSlope]
	}
	perPoint := 1 / (2 * math.Erfinv(pairQuantile))
	for i, x := range n.sample {
		pairs += int32(i)
		for k, y := range n.sample[:i] {
			rise := float64(x-y)*perPoint - base
			if rise <= 0 { // nor is it for the rest, which are nearer
				n.slopeHistogram[0] += int32(i - k)
				break
			}
			n.slopeHistogram[min(pairBins-1, int(rise/(float64(x+y)/2)*binsPerPairSlope))]++
		}
	}
	return pairs
}
