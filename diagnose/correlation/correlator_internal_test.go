package correlation

import (
	"math/rand/v2"
	"testing"
)

// TestNoHigherOneIsLeftOut: following only the next higher correlations finds the best lag of a shift exactly, also
// where some or all correlations are below 0.
func TestNoHigherOneIsLeftOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var c Correlator
	c.SetLags(25)
	tried, all := 0, 0
	for trial := range 300 {
		c.circle = c.circle[:0]
		for range 60 {
			c.circle = append(c.circle, rng.Float64()*2-[]float64{0, .5, 1, 1.9}[trial%4])
		}
		c.findHigher()
		for shift := range len(c.circle) - len(c.weights) {
			best, naive := -3., -3.
			for lag, weight := range c.weights {
				naive = max(naive, c.circle[shift+lag]*weight)
				all++
			}
			for lag := 0; lag < len(c.weights); lag = c.higher[shift+lag] - shift {
				best = max(best, c.circle[shift+lag]*c.weights[lag])
				tried++
			}
			if best != naive {
				t.Fatalf("trial %d, shift %d: best is %v, want %v", trial, shift, best, naive)
			}
		}
	}
	if tried > all/2 {
		t.Errorf("%d of %d correlations were tried", tried, all)
	}
}
