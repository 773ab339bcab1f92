package search

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Symptom of an anomaly.
type Symptom string

// Symptoms (Collie, section 5.2).
const (
	Healthy    Symptom = ""
	Pause      Symptom = "pause"
	Throughput Symptom = "throughput"
)

// Thresholds of the anomaly monitor (Collie, section 5.2).
const (
	pauseLimitPercent = .1
	throughputLimit   = .8
)

// PacketRate is a calibrated bound: the rate that the hosts reach with packets of a
// size when nothing is wrong. A fixed bound would report small messages, which the CPU
// limits, as an anomaly.
type PacketRate struct {
	SizeBytes float64 `json:"size_bytes"`
	Mpps      float64 `json:"mpps"` // million packets per second, in one direction
}

// Check reports impossible values in a description, except in its dimensions, which
// NewSpace checks.
func (d *Description) Check() error {
	var errs []error
	if !plausible(d.LineRateGbps) || d.LineRateGbps == 0 {
		errs = append(errs, fmt.Errorf("line_rate_gbps %v: want more than 0", d.LineRateGbps))
	}
	if !plausible(d.MessageRateMpps) || d.MessageRateMpps == 0 {
		errs = append(errs, fmt.Errorf("message_rate_mpps %v: want more than 0", d.MessageRateMpps))
	}
	if len(d.Counters) > maxDimensions {
		errs = append(errs, fmt.Errorf("%d counters: want %d or fewer", len(d.Counters), maxDimensions))
	}
	for i, name := range d.Counters {
		if name == "" || slices.Contains(d.Counters[:i], name) {
			errs = append(errs, fmt.Errorf("counters[%d] %q: its name is empty or duplicated", i, name))
		}
	}
	for i, r := range d.PacketRates {
		if !plausible(r.Mpps) || !plausible(r.SizeBytes) || r.Mpps == 0 || r.SizeBytes == 0 {
			errs = append(errs, fmt.Errorf("packet_rates[%d]: want a size and a rate of more than 0", i))
		}
	}
	return errors.Join(errs...)
}

// Judge is the anomaly monitor: pause above 0.1% of the time at a host, or throughput
// more than 20% below both bounds in a direction. Only OK measurements show symptoms.
func (d *Description) Judge(m *Measurement) Symptom {
	if m.Status != OK {
		return Healthy
	}
	for _, p := range m.TxPausePercent {
		if p > pauseLimitPercent {
			return Pause
		}
	}
	if d.throughput(m) < throughputLimit {
		return Throughput
	}
	return Healthy
}

// throughput is the worst direction's share of the nearer bound.
func (d *Description) throughput(m *Measurement) float64 {
	worst := math.Inf(1)
	for _, dir := range m.Directions {
		worst = min(worst, d.share(dir, d.packetRate(dir.SizeBytes)))
	}
	return worst
}

// share is a direction's share of the nearer bound.
func (d *Description) share(dir Direction, mpps float64) float64 {
	return max(dir.Gbps/d.LineRateGbps, dir.Mpps/mpps)
}

// packetRate is the bound for packets of a size, million per second: the calibrated
// one, interpolated linearly over the logarithm of the size, else the engine's.
func (d *Description) packetRate(sizeBytes float64) float64 {
	if len(d.PacketRates) == 0 || !(sizeBytes > 0) {
		return d.MessageRateMpps
	}
	rates := slices.SortedFunc(slices.Values(d.PacketRates), func(a, b PacketRate) int { return cmp.Compare(a.SizeBytes, b.SizeBytes) })
	i := slices.IndexFunc(rates, func(r PacketRate) bool { return r.SizeBytes >= sizeBytes })
	switch i {
	case 0:
		return min(d.MessageRateMpps, rates[0].Mpps)
	case -1:
		return min(d.MessageRateMpps, rates[len(rates)-1].Mpps)
	}
	a, b := rates[i-1], rates[i]
	part := math.Log(sizeBytes/a.SizeBytes) / math.Log(b.SizeBytes/a.SizeBytes)
	return min(d.MessageRateMpps, a.Mpps+part*(b.Mpps-a.Mpps))
}

// Samples combines samples of one workload into one measurement: engines on hardware
// sample until the samples agree.
type Samples struct {
	samples []Measurement
}

// The number of samples, and the relative deviation from their mean up to which the
// last ones count as stable.
const (
	stableSamples = 4
	maxSamples    = 12
	stableShare   = .05
)

// Add adds a sample and reports whether no more are needed: the last four agree, there are
// twelve, or the sample is not OK. All have the same directions, hosts and counters.
func (s *Samples) Add(m Measurement) (done bool) {
	s.samples = append(s.samples, m)
	if m.Status != OK || len(s.samples) >= maxSamples {
		return true
	}
	return len(s.samples) >= stableSamples && s.stable()
}

// last returns the samples that count: earlier rates were not stable.
func (s *Samples) last() []Measurement {
	return s.samples[max(0, len(s.samples)-stableSamples):]
}

func (s *Samples) stable() bool {
	last := s.last()
	for i := range last[0].Directions {
		var p spread
		for _, m := range last {
			if i >= len(m.Directions) {
				return false
			}
			p.add(m.Directions[i].Gbps)
		}
		for _, m := range last {
			if math.Abs(m.Directions[i].Gbps-p.mean) > stableShare*p.mean {
				return false
			}
		}
	}
	return true
}

// Measurement is the mean of the last four samples; its seconds are the sum over all.
// If the last sample is not OK, its status is the result's.
func (s *Samples) Measurement() Measurement {
	if len(s.samples) == 0 {
		return Measurement{Status: SetupFailed}
	}
	var seconds float64
	for _, m := range s.samples {
		seconds += m.Seconds
	}
	last := s.last()
	mean := last[len(last)-1]
	mean.Seconds = seconds
	if mean.Status != OK {
		return mean
	}
	n := float64(len(last))
	mean.Directions = slices.Clone(mean.Directions)
	for i := range mean.Directions {
		mean.Directions[i] = Direction{}
		for _, m := range last {
			if i < len(m.Directions) {
				d := m.Directions[i]
				mean.Directions[i].Gbps += d.Gbps / n
				mean.Directions[i].Mpps += d.Mpps / n
				mean.Directions[i].SizeBytes += d.SizeBytes / n
			}
		}
	}
	mean.TxPausePercent = slices.Clone(mean.TxPausePercent)
	for i := range mean.TxPausePercent {
		mean.TxPausePercent[i] = 0
		for _, m := range last {
			if i < len(m.TxPausePercent) {
				mean.TxPausePercent[i] += m.TxPausePercent[i] / n
			}
		}
	}
	counters := map[string]float64{}
	for _, m := range last {
		for name, v := range m.Counters {
			counters[name] += v / n
		}
	}
	mean.Counters = counters
	return mean
}
