// Package median has medians, and deviations from them, of values in buffers that are reused: nothing is allocated.
package median

import "math"

// Of is the median of values, by quickselect; it reorders them.
func Of(v []float64) float64 {
	middle := len(v) / 2
	for low, high := 0, len(v)-1; low < high; {
		pivot, i, j := v[(low+high)/2], low, high
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case middle <= j:
			high = j
		case middle >= i:
			low = i
		default:
			low = high
		}
	}
	return v[middle]
}

// Spread is the standard deviation of the values' logarithms around their median; it overwrites the values.
func Spread(v []float64, middle float64) float64 {
	for k, x := range v {
		v[k] = math.Log(x / middle)
	}
	return Deviation(v, 0)
}

// perMedian is the ratio of the standard deviation to the median absolute deviation, for normal values.
const perMedian = 1.4826

// Deviation estimates the standard deviation of values by the median absolute deviation from their median; it
// overwrites the values.
func Deviation(v []float64, middle float64) float64 {
	for k, x := range v {
		v[k] = math.Abs(x - middle)
	}
	return perMedian * Of(v)
}

// DeviationOfSorted is deviationOf for ascending values, which it keeps: the differences grow both ways from the
// median, so it need not sort them.
func DeviationOfSorted(v []float64) float64 {
	middle, off := v[len(v)/2], 0.
	below, above := len(v)/2-1, len(v)/2
	for range len(v)/2 + 1 {
		if below < 0 || above < len(v) && v[above]-middle <= middle-v[below] {
			off = v[above] - middle
			above++
		} else {
			off = middle - v[below]
			below--
		}
	}
	return perMedian * off
}
