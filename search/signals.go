package search

import (
	"math"
	"slices"
)

// A signal is a figure of a measurement that the search drives up: each diagnostic
// counter, and the lost part of throughput (Collie, section 5.1).

// signals of a measurement: the counters in the order of the description, then the
// lost throughput.
func (s *evidence) signals(m *Measurement) []float64 {
	v := make([]float64, 0, len(s.description.Counters)+1)
	for _, name := range s.description.Counters {
		v = append(v, m.Counters[name])
	}
	return append(v, -s.throughput(m))
}

// spread is the mean and the sum of squared deviations of a signal (Welford).
type spread struct {
	n          int
	mean, sqrs float64
}

func (p *spread) add(v float64) {
	p.n++
	d := v - p.mean
	p.mean += d / float64(p.n)
	p.sqrs += d * (v - p.mean)
}

func (p *spread) deviation() float64 { return math.Sqrt(p.sqrs / float64(max(1, p.n))) }

// top is the value of a signal that the given share of the uncovered history reaches.
func (s *evidence) top(signal int, share float64, scratch []float64) float64 {
	scratch = scratch[:0]
	for _, e := range s.history {
		if !e.covered {
			scratch = append(scratch, e.signals[signal])
		}
	}
	if len(scratch) == 0 {
		return math.Inf(1)
	}
	slices.Sort(scratch)
	return scratch[min(len(scratch)-1, int(float64(len(scratch))*(1-share)))]
}
