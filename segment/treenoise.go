package segment

import (
	"math"
	"slices"
)

// treeNoise is the noise of a snapshot of directed links: deviation base at no stall, growing by slope per
// point, around a calm mean.
type treeNoise struct{ base, slope, mean float64 }

func (n treeNoise) sigma(percent float64) float64 { return n.base + n.slope*percent }

// meanError bounds the chance difference of the means of a and b links at a stall.
func (n treeNoise) meanError(percent float64, a, b int) float64 {
	return equalDeviations*n.sigma(percent)*math.Sqrt(1/float64(max(1, a))+1/float64(max(1, b))) + equalShare*percent
}

const (
	equalDeviations = 3
	equalShare      = .02 // links of one cause differ a little by what else they carry
	// The slope: a low quantile of the differences between links that enter one switch, with a prior.
	treeSlopePrior   = .04
	treeSlopePairs   = 20
	minTreeSlope     = .01
	maxTreeSlope     = .08
	maxLinksForSlope = 16
)

// calm estimates location and scale of the links below the least stall that counts: congestion does not move
// them, however much of a small fabric it takes.
func (n *noiseEstimator) calm(values []float32, minMean float64) treeNoise {
	clear(n.histogram[:])
	count, limit := int32(0), float32(max(minMean, 1))
	for _, v := range values {
		if v >= 0 && v < limit {
			n.histogram[int(v*binsPerPoint)]++
			count++
		}
	}
	low, high := quantile(n.histogram[:], count/4), quantile(n.histogram[:], count/4*3)
	const rangePerSigma = 1.349
	noise := treeNoise{base: max(minBase, float64(high-low)/binsPerPoint/rangePerSigma)}
	if count > 0 {
		noise.mean = float64(quantile(n.histogram[:], count/2)) / binsPerPoint
	}
	return noise
}

// fitSlope finds how the noise grows, from pairs of stalled links that enter one switch.
func (n *noiseEstimator) fitSlope(t *trees) {
	clear(n.slopeHistogram[:])
	n.slopeHistogram[int(treeSlopePrior*binsPerSlope)] = treeSlopePairs
	pairs := int32(treeSlopePairs)
	for _, d := range t.entered {
		for _, hosts := range [2]bool{true, false} {
			n.sample = n.sample[:0]
			for _, i := range t.into.of(d) {
				if t.fromHost(i) == hosts {
					n.sample = append(n.sample, float32(t.stall[i]))
				}
			}
			pairs += n.countPairs(t.noise.base)
		}
	}
	slope := float64(quantile(n.slopeHistogram[:], int32(slopeQuantile*float64(pairs)))) / binsPerSlope
	t.noise.slope = min(maxTreeSlope, max(minTreeSlope, slope))
}

// countPairs counts by slope the pairs of the sample.
func (n *noiseEstimator) countPairs(base float64) (pairs int32) {
	slices.Sort(n.sample)
	if len(n.sample) > maxLinksForSlope {
		for i := range maxLinksForSlope {
			n.sample[i] = n.sample[i*len(n.sample)/maxLinksForSlope]
		}
		n.sample = n.sample[:maxLinksForSlope]
	}
	perPoint := 1 / (2 * math.Erfinv(slopeQuantile))
	for i, x := range n.sample {
		for _, y := range n.sample[:i] {
			pairs++
			rise := max(0, float64(x-y)*perPoint-base)
			n.slopeHistogram[min(slopeBins-1, int(rise/(float64(x+y)/2)*binsPerSlope))]++
		}
	}
	return pairs
}
