package diagnose

import (
	"math"
	"testing"
)

func TestOnset(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name  string
		stall []float64
		want  int
	}{
		{"a step", []float64{1, 1, 1, 1, 30, 31, 30}, 4},
		{"a step with a gap", []float64{1, 1, 1, 30, 2, 31, 30}, 3},
		{"two bursts", []float64{1, 30, 30, 1, 1, 30, 30}, 5},
		{"a ramp", []float64{1, 1, 1, 8, 16, 24, 32}, 4},
		{"not measured in between", []float64{1, 1, 1, nan, 30, 31}, 4},
		{"from the beginning", []float64{30, 31, 30, 32}, -1},
		{"nothing", []float64{1, 2, 1, 2}, -1},
		{"just now", []float64{1, 1, 1, 1, 30}, 4},
		{"unknown", []float64{nan, nan, nan}, -1},
	} {
		if got := onsetOf(c.stall, shortPause); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if got := onsetOf([]float64{1, 1, 30, 30, 1, 1, 1, 30, 30, 2, 1, 1, 30}, longPause); got != 2 {
		t.Errorf("a stall that pauses began at %d, want 2", got)
	}
}
