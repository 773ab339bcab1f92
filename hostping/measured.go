package hostping

import "math"

// Message sizes (section 4.1.1): the small one measures latency, the extra time of the large one bandwidth.
const (
	SmallBytes = 1
	LargeBytes = 128 << 10 // for 200 Gb/s
)

// Measured is the measurement of one pair. Reason is empty if it succeeded.
type Measured struct {
	Pair
	LatencyMicros float64 // of a small message: T_proc + Lat_host, equation 2
	Gbps          float64 // equation 3, from the difference of both sizes
	Error         float64 // relative standard error of Gbps, from the spread of the repetitions
	Reason        string  // why it could not be measured
}

// OK reports whether there is a measurement.
func (m *Measured) OK() bool { return m.Reason == "" }

// Measure computes a pair's measurement from its two probes, by the median of their repetitions (section 4.1.1,
// equation 1 minus equation 2).
func Measure(pair Pair, small, large []float64, largeBytes int) Measured {
	l0, l1 := Median(small), Median(large)
	if l0 <= 0 || l1 <= l0 {
		return Measured{Pair: pair, Reason: "a large message took no longer than a small one"}
	}
	spread := math.Hypot(standardError(small), standardError(large))
	return Measured{Pair: pair, LatencyMicros: l0, Gbps: gbps(largeBytes-SmallBytes, l1-l0), Error: spread / (l1 - l0)}
}

// standardError of the median of samples, from their median absolute deviation, which is robust to outliers.
func standardError(samples []float64) float64 {
	middle := Median(samples)
	deviations := make([]float64, len(samples))
	for i, s := range samples {
		deviations[i] = math.Abs(s - middle)
	}
	const normal = 1.4826 * 1.2533 // for a normal distribution: MAD to standard deviation, and standard error of the mean to that of the median
	return normal * Median(deviations) / math.Sqrt(float64(max(1, len(samples))))
}

// gbps is the rate for some bytes in some microseconds.
func gbps(bytes int, micros float64) float64 { return float64(bytes) * 8 / micros / 1000 }
