package hostping

import "math"

// confidence is the share of verdicts with such a gap that are right, on simulated hosts (hostping/bench prints it): a
// gap is by how much every other explanation costs more.
func confidence(b Bottleneck, gap float64) float64 {
	const middle, scale = 1., 2.
	return 0.99 / (1 + math.Exp(-(gap-middle)/scale))
}
