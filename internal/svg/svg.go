// Package svg has what the drawings of several packages share.
package svg

import "math"

// mostTicks is how many distances between ticks have room for their labels in each drawing.
const mostTicks = 8

// Ticks returns the ticks of an axis from 0 to limit: multiples of 1, 2 or 5 times a power of ten, whichever is the smallest with
// few enough of them.
func Ticks(limit float64) (at []float64) {
	step := math.Pow(10, math.Floor(math.Log10(limit/mostTicks)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if limit <= mostTicks*step*factor {
			step *= factor
			break
		}
	}
	for i := 0.; i*step <= limit*(1+1e-9); i++ {
		at = append(at, i*step)
	}
	return at
}
