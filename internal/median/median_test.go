package median

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDeviationOfSorted compares with Deviation.
func TestDeviationOfSorted(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		v := make([]float64, 1+rng.IntN(12))
		for i := range v {
			if v[i] = float64(rng.Float32() * 100); rng.IntN(3) == 0 {
				v[i] = float64(rng.IntN(4))
			}
		}
		slices.Sort(v)
		if got, want := DeviationOfSorted(v), Deviation(slices.Clone(v), v[len(v)/2]); got != want {
			t.Fatalf("%v: deviation %v, want %v", v, got, want)
		}
	}
}
