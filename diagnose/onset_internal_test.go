package diagnose

import (
	"math"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/correlation"
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

// laggedOf is a feature before the first region asks for its rise.
func laggedOf(raw []float64) *lagged {
	return &lagged{correlation.Series{Raw: raw}, change{onset: -1}}
}

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

func TestRise(t *testing.T) {
	var w interval
	level := func(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }
	calm := func(n int) []float64 { return level(n, 1) }
	if r := w.riseAt(laggedOf(append(calm(20), 50, 50, 50)), 20, 0); r != 1 {
		t.Errorf("fifty times as much: %v", r)
	}
	if r := w.riseAt(laggedOf(calm(23)), 20, 0); r != 0 {
		t.Errorf("no change: %v", r)
	}
	if r := w.riseAt(laggedOf(make([]float64, 23)), 20, 0); r != 0 {
		t.Errorf("nothing ever: %v", r)
	}
	if r := w.riseAt(laggedOf(append(calm(10), append(level(10, 50), calm(3)...)...)), 20, 0); r != 0 {
		t.Errorf("it rose ten intervals before: %v", r)
	}
}
