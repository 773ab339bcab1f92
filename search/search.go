package search

import (
	"errors"
	"fmt"
	"iter"
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

// Search is a running search. Its behaviour depends only on the seed and the sequence
// of Observe calls; Next only reads. It is not safe for concurrent use.
//
// It has three layers, each of which sees only those below: evidence (what was measured),
// findings (what it means) and sampler (what to try next). Search itself adds the
// algorithms, which run on its workers.
type Search struct {
	*sampler
	cfg     Config
	workers []*worker
	refined int // experiments when an MFS was last refined
	yields  [origins]yield
	err     error
}

// New returns a search of a space: everything that an engine describes, or a restriction.
func New(d Description, space *Space, cfg Config) (*Search, error) {
	if err := errors.Join(d.Check(), cfg.Validate()); err != nil {
		return nil, err
	}
	cfg.Pairs = max(1, cfg.Pairs)
	s := &Search{sampler: newSampler(newFindings(newEvidence(d, space), cfg.Known), cfg.Seed), cfg: cfg, yields: firstYields()}
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
	s.record(e)
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
	news := s.news
	s.news = nil
	return news
}

// record adds an experiment, and withdraws what it refutes.
func (s *Search) record(e *experiment) {
	for _, cleared := range s.add(e) {
		s.withdraw(cleared)
	}
	e.covered = s.covered(e.point)
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
