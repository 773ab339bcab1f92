package hostping

import "math"

// Curve is how an RNIC that is slow to all endpoints carries longer messages and more queue pairs to one of them:
// microseconds of one probe each, 0 where it failed. It separates what the paper's analysis reports as a failure of
// the RNIC's PCIe link (#9, #10): slow start recovers with the size, a Tx window bounds each queue pair alone, and a
// failed link does neither.
type Curve struct {
	Pair
	Micros []float64 // of CurveProbes, in their order
}

// Sizes of the curve.
const (
	longFactor    = 64 // of the large message
	longestFactor = 512
	curveQPs      = 8
	curveRepeat   = 11
)

// CurveProbes are the probes of a curve.
func CurveProbes(pair Pair, largeBytes int) []Probe {
	return []Probe{
		{Pair: pair, Bytes: longFactor * largeBytes, QPs: 1, Repeat: curveRepeat},
		{Pair: pair, Bytes: longestFactor * largeBytes, QPs: 1, Repeat: curveRepeat},
		{Pair: pair, Bytes: largeBytes, QPs: curveQPs, Repeat: curveRepeat},
	}
}

// recovers is by how much a rate must rise at most to count as recovered.
const recovers = 1.2

// recovered is the rate from which on a slow route counts as recovered: halfway, on a scale of ratios, to what it would
// carry, so that what is just below the threshold can get there too.
func recovered(now, limit float64) float64 {
	return now * min(recovers, math.Sqrt(max(1, limit/now)))
}

// bottleneck says which of #1, #9 and #10 a curve shows, given a small message's latency, the rate now and the one
// without a fault; known is false where the probes failed.
func (c *Curve) bottleneck(latencyMicros, now, limit float64, largeBytes int) (b Bottleneck, known bool) {
	enough := recovered(now, limit)
	if len(c.Micros) != 3 {
		return RNICPCIeFailure, false
	}
	long, longest, many := c.Micros[0], c.Micros[1], c.Micros[2]
	if long > 0 && longest > long { // the rate at which the end of a long message goes
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
