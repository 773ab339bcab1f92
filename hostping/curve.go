package hostping

import "math"

// Curve is how an RNIC that is slow to all endpoints handles longer messages and more queue pairs to one of them:
// microseconds of one probe each, 0 if it failed. It separates what the paper's analysis reports as a failure of the
// RNIC's PCIe link (#9, #10): slow start recovers with size, a Tx window bounds each queue pair separately, and a
// failed link does neither.
type Curve struct {
	Pair
	Micros []float64 // of CurveProbes, in their order
}

// Parameters of the curve's probes; sizes relative to the large message.
const (
	longFactor    = 64 // times the large message
	longestFactor = 512
	curveQPs      = 8
	curveRepeat   = 11
)

// CurveProbes returns the probes of a curve.
func CurveProbes(pair Pair, largeBytes int) []Probe {
	return []Probe{
		{Pair: pair, Bytes: longFactor * largeBytes, QPs: 1, Repeat: curveRepeat},
		{Pair: pair, Bytes: longestFactor * largeBytes, QPs: 1, Repeat: curveRepeat},
		{Pair: pair, Bytes: largeBytes, QPs: curveQPs, Repeat: curveRepeat},
	}
}

// recovers is the largest factor by which a rate must rise to count as recovered.
const recovers = 1.2

// recovered is the rate above which a slow route counts as recovered: halfway, on a log scale, to its expected rate, at
// most recovers times the current one, so that routes just below the threshold can reach it too.
func recovered(now, limit float64) float64 {
	return now * min(recovers, math.Sqrt(max(1, limit/now)))
}

// bottleneck determines which of #1, #9 and #10 a curve shows, given a small message's latency, the current rate and
// the one without a fault; known is false if the probes failed.
func (c *Curve) bottleneck(latencyMicros, now, limit float64, largeBytes int) (b Bottleneck, known bool) {
	enough := recovered(now, limit)
	if len(c.Micros) != 3 {
		return RNICPCIeFailure, false
	}
	long, longest, many := c.Micros[0], c.Micros[1], c.Micros[2]
	if long > 0 && longest > long { // the rate of the end of a long message
		known = true
		if gbps((longestFactor-longFactor)*largeBytes, longest-long) > enough {
			return RNICSlowStart, true
		}
	}
	if many > latencyMicros {
		if gbps(curveQPs*largeBytes, many-latencyMicros) > enough {
			return TxWindowTooSmall, true
		}
		return RNICPCIeFailure, known
	}
	return RNICPCIeFailure, false
}
