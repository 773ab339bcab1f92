package merging

import (
	"math"
	"math/rand"
	"slices"
	"testing"
)

// The formula holds for simulated values within the stated 6%, plus the error of the simulation.
func TestRangeWithoutGaps(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, n := range []int{8, 12, 24, 64, 128} {
		const samples = 4001
		var left []float64
		x := make([]float64, n)
		for range samples {
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			slices.Sort(x)
			inner := x[1 : n-1]
			var gaps []float64
			for i := range inner[1:] {
				gaps = append(gaps, inner[i+1]-inner[i])
			}
			slices.Sort(gaps)
			left = append(left, inner[len(inner)-1]-inner[0]-gaps[len(gaps)-1]-gaps[len(gaps)-2])
		}
		slices.Sort(left)
		want := left[samples/2] / expectedRange(n)
		if got := rangeWithoutGaps(n); math.Abs(got-want) > .065*want {
			t.Errorf("%d values: %.3f of the range is left, simulated %.3f", n, got, want)
		}
	}
}

// The transform makes the noise equal at every stall, and has an inverse.
func TestStabilise(t *testing.T) {
	for _, m := range []noiseModel{{base: 2}, {base: .5, slope: .1}, {base: 3, slope: .3}, {base: 1, slope: 1e-6}} {
		for percent := 0.; percent <= 100; percent += 5 {
			level := m.stabilise(percent)
			if back := m.unstabilise(level); math.Abs(back-percent) > 1e-3 {
				t.Errorf("%+v: %v%% comes back as %v%%", m, percent, back)
			}
			const step = 1e-3
			perSigma := (m.stabilise(percent+step) - level) / step * m.sigma(percent)
			if math.Abs(perSigma-1) > .01 {
				t.Errorf("%+v: a deviation at %v%% is %v levels", m, percent, perSigma)
			}
		}
	}
}
