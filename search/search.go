package search

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
)

// Algorithm chooses the next workload.
type Algorithm string

// Algorithms.
const (
	Lift          Algorithm = "lift"           // default: lift sampling and a careful MFS
	Collie        Algorithm = "collie"         // Algorithm 1 of the paper
	CollieExtreme Algorithm = "collie-extreme" // the same, with proposals at the ends of dimensions
	Random        Algorithm = "random"         // every workload equally likely
)

// Algorithms lists them, the default first.
func Algorithms() []Algorithm { return []Algorithm{Lift, Collie, CollieExtreme, Random} }

// Config of a search.
type Config struct {
	Algorithm Algorithm
	Budget    int // measurements except invalid ones
	Pairs     int // host pairs that measure in parallel; 0: 1
	Seed      uint64
	Known     []*MFS // of the same space: neither searched again nor reported

	// For comparison with the paper's Fig. 4 to 6. Lift supports neither; Random has no
	// signal.
	PerformanceOnly bool // drive only throughput, no diagnostic counters
	NoMFS           bool // neither minimise anomalies nor skip known ones
}

// MaxPairs bounds the host pairs of one search.
const MaxPairs = 1024

// Validate joins all errors.
func (c *Config) Validate() error {
	var errs []error
	if c.Budget < 1 {
		errs = append(errs, fmt.Errorf("budget %d: want 1 experiment or more", c.Budget))
	}
	if c.Pairs < 0 || c.Pairs > MaxPairs {
		errs = append(errs, fmt.Errorf("pairs %d: want 1 to %d", c.Pairs, MaxPairs))
	}
	return errors.Join(errs...)
}

// experiment is a measurement of the search, MFS probes included.
type experiment struct {
	number  int     // from 1; 0 for invalid ones
	seconds float64 // search time at its end
	point   point
	result  Measurement
	symptom Symptom
	signals []float64 // what the search drives up: see signals.go
	covered bool      // by a known MFS
	bins    []int     // by dimension: see lift.go
	origin  origin
	apart   bool       // it was minimised, or is being
	of      *minimizer // the unreported anomaly that it was attributed to; nil: none
}

// shown counts the experiments with a value, and how many of them showed symptoms.
type shown struct{ all, bad float64 }

// Search is a running search. Its behaviour depends only on the seed and the sequence
// of Observe calls; Next only reads. It is not safe for concurrent use.
type Search struct {
	description Description
	space       *Space
	cfg         Config
	rnd         *rand.Rand
	workers     []*worker

	experiments int // those that count
	failed      int
	invalidRun  int // consecutive invalid answers
	seconds     float64
	flaky       bool          // the engine failed to set up, or missed a symptom
	history     []*experiment // OK measurements only
	anomalies   []*Anomaly
	findings    []Finding
	refined     int             // experiments when an MFS was last refined
	invalid     map[string]bool // infeasible points
	lifts       []lifts         // by signal
	revisions   int             // number of changes to what is covered
	yields      [origins]yield
	shown       [][]shown // by dimension and value: how often it showed symptoms
	healthy     *healthySet
	rates       sizeRates
	err         error
}

// New returns a search of a space: everything that an engine describes, or a restriction.
func New(d Description, space *Space, cfg Config) (*Search, error) {
	if err := errors.Join(d.Check(), cfg.Validate()); err != nil {
		return nil, err
	}
	cfg.Pairs = max(1, cfg.Pairs)
	s := &Search{description: d, space: space, cfg: cfg, rnd: rand.New(rand.NewPCG(cfg.Seed, 0x6769766572)),
		healthy: newHealthySet(space), yields: firstYields(), lifts: make([]lifts, len(d.Counters)+1), invalid: map[string]bool{}, shown: make([][]shown, len(space.dims))}
	for d := range s.shown {
		s.shown[d] = make([]shown, len(space.dims[d].Values))
	}
	run, err := s.algorithm()
	if err != nil {
		return nil, err
	}
	for range cfg.Pairs {
		w := &worker{search: s}
		w.next, w.stop = iter.Pull(func(yield func(point) bool) {
			w.yield = yield
			run(w)
		})
		s.workers = append(s.workers, w)
	}
	for _, w := range s.workers {
		w.advance()
	}
	return s, nil
}

func (s *Search) algorithm() (func(*worker), error) {
	switch s.cfg.Algorithm {
	case Lift:
		return s.lift, nil
	case Random:
		return s.random, nil
	case Collie:
		return func(w *worker) { s.collie(w, s.space.random) }, nil
	case CollieExtreme:
		return func(w *worker) { s.collie(w, s.space.extreme) }, nil
	}
	return nil, fmt.Errorf("algorithm %q: want one of %v", s.cfg.Algorithm, Algorithms())
}

// careful reports whether the MFS are the careful ones, not the paper's or none.
func (s *Search) careful() bool {
	return (s.cfg.Algorithm == Lift || s.cfg.Algorithm == Random) && !s.cfg.NoMFS
}

// Next returns the next workload for a host pair, counted from 0; it stays the same
// until observed. It returns false when the pair is done: the budget is spent or
// claimed by other pairs, or the search has failed (Err).
func (s *Search) Next(pair int) (Workload, bool) {
	w := s.workers[pair]
	if w.asked == nil || s.err != nil {
		return Workload{}, false
	}
	if !w.claimed && s.experiments+s.underWay() >= s.cfg.Budget {
		return Workload{}, false
	}
	w.claimed = true
	return s.space.workload(w.asked), true
}

// underWay counts the workloads that were handed out but not yet observed.
func (s *Search) underWay() (n int) {
	for _, w := range s.workers {
		if w.claimed {
			n++
		}
	}
	return n
}

// maxInvalid consecutive invalid answers end a search: the space is infeasible.
const maxInvalid = 2000

// Observe takes a host pair's measurement of the workload from Next, and returns the
// new findings. An impossible measurement (Measurement.Check) counts as a failed
// set-up.
func (s *Search) Observe(pair int, m Measurement) []Finding {
	w := s.workers[pair]
	if w.asked == nil || s.err != nil {
		return nil
	}
	if m.Check() != nil {
		m = Measurement{Status: SetupFailed}
	}
	e := &experiment{point: w.asked, result: m}
	w.last, w.claimed = e, false
	s.count(e)
	if s.invalidRun >= maxInvalid {
		s.err = fmt.Errorf("search: the engine rejected %d workloads in a row as invalid: restrict the space to what it supports", maxInvalid)
	}
	if s.experiments >= s.cfg.Budget || s.err != nil {
		s.Close()
		if s.careful() {
			s.withdrawNested(true)
		}
	} else {
		w.advance()
	}
	news := s.findings
	s.findings = nil
	return news
}

// count records an experiment.
func (s *Search) count(e *experiment) {
	if e.result.Status == Invalid {
		s.invalid[e.point.key()] = true
		s.invalidRun++
		return
	}
	s.invalidRun = 0
	s.experiments++
	s.seconds += e.result.Seconds
	e.number, e.seconds = s.experiments, s.seconds
	switch e.result.Status {
	case OK:
		s.judge(e)
		e.covered = s.covered(e.point)
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
}

// Err is the reason why a search ended before its budget was spent, or nil.
func (s *Search) Err() error { return s.err }

// Close ends the search: Next returns no more workloads.
func (s *Search) Close() {
	for _, w := range s.workers {
		w.stop()
		w.asked, w.claimed = nil, false
	}
}

// Summary of a search so far. Its JSON is the line of the report.
type Summary struct {
	Type        string  `json:"type"` // "summary"
	Experiments int     `json:"experiments"`
	Failed      int     `json:"failed"`  // of these: failed set-up, or congested fabric
	Seconds     float64 `json:"seconds"` // total duration of the experiments
	Anomalies   int     `json:"anomalies"`
}

// Summary summarises what was done and found.
func (s *Search) Summary() Summary {
	return Summary{"summary", s.experiments, s.failed, s.seconds, len(s.Anomalies())}
}
