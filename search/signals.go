package search

import (
	"math"
	"slices"
)

// A signal is a figure of a measurement that is driven up: each diagnostic counter,
// and the lost part of throughput (Collie, section 5.1).

// signals of a measurement: the counters in the order of the description, then the
// lost throughput.
func (s *Search) signals(m *Measurement) []float64 {
	v := make([]float64, 0, len(s.description.Counters)+1)
	for _, name := range s.description.Counters {
		v = append(v, m.Counters[name])
	}
	return append(v, -s.description.throughput(m))
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

func (s *Search) learn(signals []float64) {
	if s.limits == nil {
		s.limits = make([]spread, len(signals))
	}
	for i, v := range signals {
		s.limits[i].add(v)
	}
}

// leading is the counter that stands out most in a measurement, or -1.
func (s *Search) leading(e *experiment) int {
	best, at := 0., -1
	for i, v := range e.signals[:len(e.signals)-1] {
		if d := s.limits[i].deviation(); d > 0 && (v-s.limits[i].mean)/d > best {
			best, at = (v-s.limits[i].mean)/d, i
		}
	}
	return at
}

// top is the value that a share of the uncovered history reaches in a signal.
func (s *Search) top(signal int, share float64, scratch []float64) float64 {
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
