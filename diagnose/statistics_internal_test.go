package diagnose

import (
	"math"
	"testing"
)

// Outliers by median and MAD: with a MAD of zero, few jobs or no spread at all, the mean deviation and the
// median decide.
func TestDeviations(t *testing.T) {
	for _, c := range []struct {
		name   string
		others []float64
		value  float64
		want   float64
	}{
		{"the paper's sixteen times the next", []float64{1, 2, 3, 4, 4.4}, 70, (70 - 3) / madScale},
		{"below the median", []float64{1, 2, 3, 4, 5}, 2, 0},
		{"half of the jobs are equal", []float64{5, 5, 5, 5, 15}, 15, 10 / (meanScale * 2)},
		{"all are equal", []float64{5, 5, 5, 5, 5}, 6, 1 / (leastScale * 5)},
		{"the other jobs move nothing", []float64{0, 0, 0}, 7, mostDeviations},
		{"one of few moves all", []float64{0, 0, 0, 7}, 7, mostDeviations},
		{"alone", []float64{4}, 4, 0},
		{"no job", nil, 4, 0},
	} {
		if got := spreadOf(c.others, leastScale).deviations(c.value); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v deviations, want %v", c.name, got, c.want)
		}
	}
}
