package trees

import (
	"math"
	"testing"
)

// TestALinkBelongsToEachLikelyCause: a link that two causes explain about equally well belongs to both, and would get
// all of its stall from either; one that only one explains belongs to that one.
func TestALinkBelongsToEachLikelyCause(t *testing.T) {
	for _, x := range []struct {
		name         string
		one          []float64 // what the causes predict
		stall, sigma float64
		want         uint
		wantParts    []float64
	}{
		{"equal", []float64{40, 40}, 40, 2, 0b11, []float64{40, 40}},
		{"within the error", []float64{41, 39}, 40.2, 2, 0b11, []float64{40.2, 40.2}},
		{"only the first", []float64{40, 20}, 40, 2, 0b01, []float64{40}},
		{"the sum", []float64{40, 20}, 60, 2, 0b11, []float64{40, 20}},
		{"larger errors", []float64{40, 30}, 36, 10, 0b11, []float64{36, 36}},
		{"of three, two", []float64{40, 39.6, 15}, 40, 2, 0b11, []float64{40, 40}},
	} {
		h := shares{minMean: 5}
		copy(h.one[:], x.one)
		var none [maxParts]float64
		n := len(x.one)
		best := h.cheapest(n, x.stall, x.sigma, &none, &none)
		got := h.likely(n, x.stall, best)
		if got != x.want {
			t.Errorf("%s: set %b, want %b", x.name, got, x.want)
		}
		for k, want := range x.wantParts {
			if math.Abs(h.part[k]-want) > .1*want {
				t.Errorf("%s: part %d is %.1f, want %.1f", x.name, k, h.part[k], want)
			}
		}
	}
}
