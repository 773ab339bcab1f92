package trees

import (
	"math"
	"math/bits"

	"github.com/giverny/giverny/segment/trees/index"
)

// leastLikely is the probability from which a link belongs to a cause. A link that may belong to a region raises the
// expected Jaccard index J of the region from the probability J/(1+J) on: .4 if J is two thirds.
const leastLikely = .4

// choose finds which of a node's candidate causes, two at most, predict its stall best: a set of indexes of its list.
// It leaves the stall that each cause predicts in h.one, and the costs of all sets in h.costs.
func (h *shares) choose(m *analysis, i index.Node) (chosen uint) {
	from := &h.of[i]
	leaf, spread := m.LeafOf(i), 1.
	var with, without [maxParts]float64
	for k, p := range from.list() {
		h.one[k], spread = p.stall*h.fall[p.cause], max(spread, h.spread[p.cause])
		switch {
		case m.causes.thin[p.cause]:
			with[k] = portCost
		case !m.causes.isExchange(p.cause):
		case leaf < 0:
		case !m.causes.takesPart(&m.sinks, leaf, p.cause):
			with[k] = partnerCost
		default:
			without[k] = partnerCost
			if m.causes.base[p.cause] > 0 && from.n > 1 {
				h.one[k] = m.causes.base[p.cause]
			}
		}
	}
	if from.n == 1 {
		return 1
	}
	return h.cheapest(from.n, m.Stall[i], spread*m.Noise.Sigma(m.Stall[i]), &with, &without)
}

// cheapest is the set of n causes with the lowest cost: of each cause with or without it, of each beyond the first,
// and of the residual. It fills costs for all sets.
func (h *shares) cheapest(n int, stall, sigma float64, with, without *[maxParts]float64) (chosen uint) {
	best, none := math.Inf(1), 0.
	for _, cost := range without[:n] {
		none += cost
	}
	for set := uint(1); set < 1<<n; set++ {
		size := bits.OnesCount(set)
		h.costs[set] = math.Inf(1)
		if size > mostAtOnce {
			continue
		}
		sum, off, least := 0., none+secondCost*float64(size-1), math.Inf(1)
		for rest := set; rest != 0; rest &= rest - 1 {
			k := bits.TrailingZeros(rest)
			sum, off, least = sum+h.one[k], off+with[k]-without[k], min(least, h.one[k])
		}
		if size > 1 && least < h.minMean {
			continue
		}
		off += math.Abs(stall-min(100, sum)) / sigma
		if h.costs[set] = off; off < best {
			best, chosen = off, set
		}
	}
	return chosen
}

// likely adds, to the chosen set of n causes, each other one to which the link belongs with a probability of
// leastLikely. It leaves what each contributes to a stall, if the link belongs to it, in h.part. A set's probability
// follows from its cost as if residuals had Laplace's distribution.
func (h *shares) likely(n int, stall float64, chosen uint) (set uint) {
	if n == 1 {
		h.part[0] = stall
		return chosen
	}
	total, chance := 0., [maxParts]float64{}
	h.part = [maxParts]float64{}
	for set := uint(1); set < 1<<n; set++ {
		if math.IsInf(h.costs[set], 1) {
			continue
		}
		p, sum := chanceOf(h.costs[set]-h.costs[chosen]), h.predicted(n, set)
		total += p
		for k := range n {
			if set>>k&1 != 0 {
				chance[k], h.part[k] = chance[k]+p, h.part[k]+p*stall*h.one[k]/sum
			}
		}
	}
	set = chosen
	for k := range n {
		if chance[k] >= leastLikely*total && h.one[k] >= h.minMean {
			set |= 1 << k
		}
		if chance[k] > 0 {
			h.part[k] /= chance[k]
		}
	}
	return set
}

// chanceOf is the chance, relative to one without cost, of a set of causes with a cost, in deviations.
func chanceOf(cost float64) float64 { return math.Exp(-math.Sqrt2 * cost) }

// predicted is the sum of what the causes of a set predict.
func (h *shares) predicted(n int, set uint) (sum float64) {
	for k := range n {
		if set>>k&1 != 0 {
			sum += h.one[k]
		}
	}
	return sum
}
