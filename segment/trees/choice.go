package trees

import (
	"math"
	"math/bits"
)

// choose finds which of a node's candidate causes, two at most, predict its stall best: a set of indexes of its
// list, and the stall predicted by each cause in the list.
func (h *shares) choose(t *trees, s *sinks, c *causes, i int32, minMean float64) (chosen uint, one [maxParts]float64) {
	stall, from := t.stall[i], &h.of[i]
	n := from.n
	if n == 1 {
		one[0] = stall
		return 1, one
	}
	leaf := t.leafOf(i)
	var with, without [maxParts]float64
	for k, p := range from.list() {
		one[k] = p.stall * h.fall[p.cause]
		switch {
		case c.thin[p.cause]:
			with[k] = portCost
		case !c.isExchange(p.cause):
		case c.isOutside(t, i, p.cause):
			with[k] = outsideCost
		case leaf < 0:
		case !c.takesPart(s, leaf, p.cause):
			with[k] = partnerCost
		default:
			without[k] = partnerCost
			if c.base[p.cause] > 0 {
				one[k] = c.base[p.cause]
			}
		}
	}
	return h.cheapest(n, stall, t.noise.sigma(stall), minMean, &one, &with, &without), one
}

// cheapest is the set of n causes with the lowest cost: of each cause with or without it, of each beyond the first,
// and of the residual. It fills costs for all sets.
func (h *shares) cheapest(n int, stall, sigma, minMean float64, one, with, without *[maxParts]float64) (chosen uint) {
	best := math.Inf(1)
	for set := uint(1); set < 1<<n; set++ {
		size := bits.OnesCount(set)
		h.costs[set] = math.Inf(1)
		if size > mostAtOnce {
			continue
		}
		sum, off, least := 0., secondCost*float64(size-1), math.Inf(1)
		for k := range n {
			if set>>k&1 != 0 {
				sum, off, least = sum+one[k], off+with[k], min(least, one[k])
			} else {
				off += without[k]
			}
		}
		if size > 1 && least < minMean {
			continue
		}
		off += math.Abs(stall-min(100, sum)) / sigma
		if h.costs[set] = off; off < best {
			best, chosen = off, set
		}
	}
	return chosen
}
