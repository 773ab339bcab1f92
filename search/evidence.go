package search

import (
	"math"
	"slices"
)

// experiment is a measurement of the search, MFS probes included.
type experiment struct {
	number  int     // from 1; 0 for invalid ones
	seconds float64 // search time at its end
	point   point
	result  Measurement
	symptom Symptom
	signals []float64 // what the search drives up: see signals.go
	covered bool      // by a known MFS
	bins    []int     // by dimension: see sampler.go
	origin  origin
	apart   bool       // it was minimised, or is being
	of      *minimizer // the unreported anomaly that it was attributed to; nil: none
}

// shown counts the experiments with a value, and how many of them showed symptoms.
type shown struct{ all, bad float64 }

// evidence is what was measured so far, and how it was judged. It does not know anomalies.
type evidence struct {
	description Description
	space       *Space

	experiments int // those that count
	failed      int
	invalidRun  int // consecutive invalid answers
	seconds     float64
	flaky       bool            // the engine failed to set up, or missed a symptom
	history     []*experiment   // OK measurements only
	invalid     map[string]bool // infeasible points
	shown       [][]shown       // by dimension and value: how often it showed symptoms
	healthy     *healthySet
	rates       sizeRates
}

func newEvidence(d Description, space *Space) *evidence {
	s := &evidence{description: d, space: space, healthy: newHealthySet(space), invalid: map[string]bool{}, shown: make([][]shown, len(space.dims))}
	for d := range s.shown {
		s.shown[d] = make([]shown, len(space.dims[d].Values))
	}
	return s
}

// add records an experiment. It returns earlier ones that it has cleared of their symptom.
func (s *evidence) add(e *experiment) (cleared []*experiment) {
	if e.result.Status == Invalid {
		s.invalid[e.point.key()] = true
		s.invalidRun++
		return nil
	}
	s.invalidRun = 0
	s.experiments++
	s.seconds += e.result.Seconds
	e.number, e.seconds = s.experiments, s.seconds
	switch e.result.Status {
	case OK:
		cleared = s.judge(e)
		s.history = append(s.history, e)
		for d, at := range e.point {
			e.bins = append(e.bins, s.space.dims[d].bin(at))
			s.shown[d][at[0]].all++
			if e.symptom != Healthy {
				s.shown[d][at[0]].bad++
			}
		}
		if e.symptom == Healthy {
			s.healthy.add(e.point)
		}
	case SetupFailed:
		s.failed++
		s.flaky = true
	case NotQuiet:
		s.failed++
	}
	return cleared
}

// throughput is the worst direction's share of the nearer bound, using the packet bound
// as calibrated so far.
func (s *evidence) throughput(m *Measurement) float64 {
	worst := math.Inf(1)
	for _, dir := range m.Directions {
		share := s.description.share(dir, s.description.packetRate(dir.SizeBytes))
		if share < throughputLimit {
			if best := s.rates.reachable(dir.SizeBytes); best > 0 {
				share = s.description.share(dir, best)
			}
		}
		worst = min(worst, share)
	}
	return worst
}

// judge determines the symptom of a new measurement. If it shows its packet size to be
// slow, earlier measurements of that size are judged again.
func (s *evidence) judge(e *experiment) (cleared []*experiment) {
	e.symptom = s.description.Judge(&e.result)
	if e.symptom != Pause {
		s.rates.add(&s.description, &e.result)
	}
	e.signals = s.signals(&e.result)
	if e.symptom != Throughput {
		return nil
	}
	if e.throughput() >= throughputLimit {
		e.symptom = Healthy
	}
	for _, dir := range e.result.Directions {
		if s.rates.reachable(dir.SizeBytes) > 0 {
			cleared = append(cleared, s.judgeAgain(dir.SizeBytes)...)
		}
	}
	return cleared
}

// judgeAgain returns the experiments whose symptom only the engine's bound implied, and
// which are now healthy. Measurements judged healthy stay so, even if a later one reaches the engine's bound.
func (s *evidence) judgeAgain(sizeBytes float64) (cleared []*experiment) {
	for _, e := range s.history {
		if e.symptom != Throughput || !e.hasSize(sizeBytes) {
			continue
		}
		share := s.throughput(&e.result)
		e.signals[len(e.signals)-1] = -share
		if share < throughputLimit {
			continue
		}
		e.symptom = Healthy
		s.healthy.add(e.point)
		for d, at := range e.point {
			s.shown[d][at[0]].bad--
		}
		cleared = append(cleared, e)
	}
	return cleared
}

func (e *experiment) hasSize(sizeBytes float64) bool {
	return slices.ContainsFunc(e.result.Directions, func(d Direction) bool { return similarSize(d.SizeBytes, sizeBytes) })
}

// alike reports whether two experiments show the same symptom, with similar throughput
// and pause.
func (e *experiment) alike(o *experiment) bool {
	if e.symptom != o.symptom {
		return false
	}
	t, u := e.throughput(), o.throughput()
	p, q := e.pause(), o.pause()
	return math.Abs(t-u) <= sameThroughput*max(t, u) && max(p, q) <= samePause*min(p, q)
}

func (e *experiment) throughput() float64 { return -e.signals[len(e.signals)-1] }

func (e *experiment) pause() (most float64) {
	for _, p := range e.result.TxPausePercent {
		most = max(most, p)
	}
	return max(most, pauseLimitPercent)
}
