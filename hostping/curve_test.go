package hostping

import "testing"

// A curve separates a failed link from slow start and a Tx window, even just below the threshold.
func TestCurves(t *testing.T) {
	const large, latency, limit = LargeBytes, 1., 200. // bytes, microseconds, Gb/s
	at := func(bytes int, rate float64) float64 { return latency + float64(bytes)*8/rate/1000 }
	for _, c := range []struct {
		name            string
		now, long, many float64 // Gb/s: of one large message, of the end of long ones, of eight queue pairs
		want            Bottleneck
	}{
		{"link", 100, 100, 100, RNICPCIeFailure},
		{"slow start", 60, 195, 90, RNICSlowStart},
		{"window", 60, 60, 198, TxWindowTooSmall},
		{"window at 78%", 156, 156, 184, TxWindowTooSmall},
		{"link at 78%, with noise", 156, 160, 163, RNICPCIeFailure},
	} {
		curve := Curve{Micros: []float64{at(longFactor*large, c.long), at(longestFactor*large, c.long), at(curveQPs*large, c.many)}}
		if got, known := curve.bottleneck(latency, c.now, limit, large); got != c.want || !known {
			t.Errorf("%s: %s, known %v; want %s", c.name, got, known, c.want)
		}
	}
}
