package svg_test

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/svg"
)

func TestTicks(t *testing.T) {
	for limit, want := range map[float64][]float64{
		1:    {0, .2, .4, .6, .8, 1},
		.3:   {0, .05, .1, .15, .2, .25, .3},
		8:    {0, 1, 2, 3, 4, 5, 6, 7, 8},
		9:    {0, 2, 4, 6, 8},
		41:   {0, 10, 20, 30, 40},
		100:  {0, 20, 40, 60, 80, 100},
		3600: {0, 500, 1000, 1500, 2000, 2500, 3000, 3500},
	} {
		got := svg.Ticks(limit)
		if !slices.EqualFunc(got, want, func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }) {
			t.Errorf("%g: %g, want %g", limit, got, want)
		}
	}
}
