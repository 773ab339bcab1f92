package read

import (
	"math"
	"testing"
)

func TestDecimal(t *testing.T) {
	for _, want := range []float64{0, .8, .99, 1, -12.345, 1e-7, 3.4e38, math.Inf(1)} {
		if got := decimal(float32(want)); got != want {
			t.Errorf("%v is read as %v", want, got)
		}
	}
	if got := decimal(float32(math.NaN())); !math.IsNaN(got) {
		t.Errorf("NaN is read as %v", got)
	}
}
