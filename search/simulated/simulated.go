// Package simulated models RDMA subsystems with anomalies: it returns what an engine
// would measure for a workload, deterministically for a seed. The anomalies are those
// of subsystems F and H of Collie (NSDI'22, Table 2 and Appendix A); the pressures
// behind the diagnostic counters, which lead up to them, are our own model. It is
// independent of search algorithms.
package simulated

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/giverny/giverny/search"
)

// Flakiness is the probabilities of an engine's failures.
type Flakiness struct {
	SetupFailed   float64
	MissedSymptom float64
}

// Engine is a simulated subsystem.
type Engine struct {
	subsystem *subsystem
	flaky     Flakiness
	rnd       *rand.Rand
}

// New returns the engine of subsystem F or H.
func New(name string, seed uint64, flaky Flakiness) (*Engine, error) {
	s, ok := subsystems()[name]
	if !ok {
		return nil, fmt.Errorf("subsystem %q: want F or H", name)
	}
	for _, p := range []struct {
		what  string
		share float64
	}{{"set-up failures", flaky.SetupFailed}, {"missed symptoms", flaky.MissedSymptom}} {
		if !(p.share >= 0 && p.share <= 1) { // NaN too
			return nil, fmt.Errorf("share of %s %g: want 0 to 1", p.what, p.share)
		}
	}
	return &Engine{s, flaky, rand.New(rand.NewPCG(seed, 0x656e67696e65))}, nil
}

// Describe returns the reply to "describe".
func (e *Engine) Describe() search.Description { return e.subsystem.description }

// Anomalies returns the anomalies that a workload triggers, by number in Table 2.
func (e *Engine) Anomalies(w search.Workload) (numbers []int) {
	l := load(w)
	for _, a := range e.subsystem.anomalies {
		if a.fires(&l) {
			numbers = append(numbers, a.number)
		}
	}
	return numbers
}

// Truth returns the MFS of each anomaly as conditions, by number in Table 2.
func (e *Engine) Truth() map[int]string {
	truth := map[int]string{}
	for _, a := range e.subsystem.anomalies {
		truth[a.number] = a.mfs
	}
	return truth
}

// Noise of a counter and of a rate, as relative standard deviation.
const (
	counterNoise = .25
	rateNoise    = .01
)

// Measure runs a workload.
func (e *Engine) Measure(w search.Workload) search.Measurement {
	l := load(w)
	if !l.possible() {
		return search.Measurement{Status: search.Invalid}
	}
	m := search.Measurement{Status: search.OK, Seconds: 20 + 40*l.setup()}
	if e.rnd.Float64() < e.flaky.SetupFailed {
		m.Status = search.SetupFailed
		return m
	}
	share, pause := 1-e.subsystem.loss(&l), 0.
	if e.rnd.Float64() >= e.flaky.MissedSymptom {
		for _, a := range e.subsystem.anomalies {
			if a.fires(&l) {
				share, pause = min(share, a.share), max(pause, a.pausePercent)
			}
		}
	}
	m.TxPausePercent = []float64{0, pause * math.Exp(.1*e.rnd.NormFloat64())}
	for range l.directions() {
		m.Directions = append(m.Directions, e.subsystem.rates(&l, share*(1+rateNoise*e.rnd.NormFloat64())))
	}
	m.Counters = map[string]float64{}
	for i, pressure := range e.subsystem.pressures(&l) {
		m.Counters[e.subsystem.description.Counters[i]] = 1e6 * pressure * math.Exp(counterNoise*e.rnd.NormFloat64())
	}
	return m
}
