package search

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
)

// Algorithm chooses the next workload.
type Algorithm string

// Algorithms.
const (
	Lift          Algorithm = "lift"           // ours: lift sampling and a careful MFS
	Collie        Algorithm = "collie"         // Algorithm 1 of the paper
	CollieExtreme Algorithm = "collie-extreme" // the same, with proposals at the ends of dimensions
	Random        Algorithm = "random"         // every workload equally likely
)

// Algorithms lists them, the default first.
func Algorithms() []Algorithm { return []Algorithm{Lift, Collie, CollieExtreme, Random} }

// Config of a search.
type Config struct {
	Algorithm Algorithm
	Budget    int // experiments: measurements that are not invalid
	Pairs     int // host pairs that measure side by side; 0 is 1
	Seed      uint64
	Known     []*MFS // not searched again; they are not reported
}

// Experiment is a measurement of the search, MFS probes included.
type Experiment struct {
	Number  int // from 1; invalid ones have none
	Point   Point
	Result  Measurement
	Symptom Symptom
	signals []float64 // what the search drives up: see signals.go
	covered bool      // by a known MFS
}

// Anomaly is what a search found.
type Anomaly struct {
	Experiment int // that first showed it
	Seconds    float64
	Symptom    Symptom
	Workload   Workload
	MFS        *MFS // nil: withdrawn
	base       *Experiment
}

// Finding is news of a search: an anomaly, or a new MFS of an earlier one.
type Finding struct {
	Anomaly Anomaly
	Revised int // the experiment at which an earlier anomaly was revised; 0: it is new
}

// Search is a search under way. It is not safe for concurrent use.
type Search struct {
	Describes Description
	space     *Space
	cfg       Config
	rnd       *rand.Rand
	workers   []*worker

	experiments int // counted
	failed      int
	seconds     float64
	flaky       bool          // the engine has failed to set up, or missed a symptom
	history     []*Experiment // those that are OK
	anomalies   []*Anomaly
	findings    []Finding
	spent       [3]int // TEMP
	phase       int
	invalid     map[string]bool // points that cannot be had
	limits      []spread        // of each signal so far
}

// New makes a search of what an engine describes, or of a part of it.
func New(d Description, space *Space, cfg Config) (*Search, error) {
	cfg.Pairs = max(1, cfg.Pairs)
	s := &Search{Describes: d, space: space, cfg: cfg, rnd: rand.New(rand.NewPCG(cfg.Seed, 0x6769766572)),
		invalid: map[string]bool{}}
	var run func(*worker)
	switch cfg.Algorithm {
	case Lift:
		run = s.lift
	case Random:
		run = s.random
	case Collie:
		run = func(w *worker) { s.collie(w, s.space.random) }
	case CollieExtreme:
		run = func(w *worker) { s.collie(w, s.space.extreme) }
	default:
		return nil, fmt.Errorf("algorithm %q: want one of %v", cfg.Algorithm, Algorithms())
	}
	for range cfg.Pairs {
		w := &worker{search: s}
		w.next, w.stop = iter.Pull(func(yield func(Point) bool) {
			w.yield = yield
			run(w)
		})
		s.workers = append(s.workers, w)
	}
	return s, nil
}

// Next is what a host pair, counted from 0, is to measure. It is false when the
// budget is spent.
func (s *Search) Next(pair int) (Workload, bool) {
	if s.experiments+s.underWay() >= s.cfg.Budget {
		return Workload{}, false
	}
	w := s.workers[pair]
	p, ok := w.next()
	w.asked = p
	return s.space.Workload(p), ok
}

func (s *Search) underWay() (n int) {
	for _, w := range s.workers {
		if w.asked != nil {
			n++
		}
	}
	return n
}

// Observe takes what a host pair measured of the workload that Next gave, and
// returns what is new. The order of Observe decides all that follows.
func (s *Search) Observe(pair int, m Measurement) []Finding {
	w := s.workers[pair]
	e := &Experiment{Point: w.asked, Result: m}
	w.asked = nil
	if m.Status == Invalid {
		s.invalid[e.Point.key()] = true
	} else {
		s.experiments++
		s.seconds += m.Seconds
		e.Number = s.experiments
		s.spent[s.phase]++
	}
	switch m.Status {
	case OK:
		e.Symptom = s.Describes.Judge(&m)
		e.signals = s.signals(&m)
		e.covered = s.covered(e.Point)
		s.learn(e.signals)
		s.history = append(s.history, e)
	case SetupFailed:
		s.failed++
		s.flaky = true
	case NotQuiet:
		s.failed++
	}
	w.last = e
	news := s.findings
	s.findings = nil
	return news
}

// Findings are what is new since Observe: a worker may find something when it is
// asked for its next workload.
func (s *Search) Findings() []Finding {
	news := s.findings
	s.findings = nil
	return news
}

// Close ends the search.
func (s *Search) Close() {
	for _, w := range s.workers {
		w.stop()
	}
}

// Summary of a search so far.
type Summary struct {
	Experiments int     `json:"experiments"`
	Failed      int     `json:"failed"`
	Seconds     float64 `json:"seconds"` // that the experiments took, one after the other
	Anomalies   int     `json:"anomalies"`
}

// Summary of what was done and found.
func (s *Search) Summary() Summary {
	return Summary{s.experiments, s.failed, s.seconds, len(s.Anomalies())}
}

// Anomalies that stand.
func (s *Search) Anomalies() (standing []Anomaly) {
	for _, a := range s.anomalies {
		if a.MFS != nil {
			standing = append(standing, *a)
		}
	}
	return standing
}

// covered reports whether a point belongs to what is known.
func (s *Search) covered(p Point) bool { return s.knownBy(p) != nil }

// knownBy is the known MFS that a point meets, or nil.
func (s *Search) knownBy(p Point) *MFS {
	for _, f := range s.cfg.Known {
		if f.Covers(p) {
			return f
		}
	}
	for _, a := range s.anomalies {
		if a.MFS != nil && a.MFS.Covers(p) {
			return a.MFS
		}
	}
	return nil
}

// report adds an anomaly, or revises those that it takes in.
func (s *Search) report(e *Experiment, f *MFS) {
	for _, a := range s.anomalies {
		if a.MFS != nil && a.Symptom == e.Symptom && f.Covers(a.Workload.point) && subset(a.MFS, f) {
			s.revise(a, f)
			return
		}
	}
	a := &Anomaly{Experiment: e.Number, Seconds: s.seconds, Symptom: e.Symptom, Workload: s.space.Workload(e.Point), MFS: f, base: e}
	s.anomalies = append(s.anomalies, a)
	s.findings = append(s.findings, Finding{Anomaly: *a})
	for _, other := range slices.Clone(s.anomalies) {
		if other != a && other.MFS != nil {
			s.disown(other, f)
		}
	}
	s.markCovered()
}

// disown takes from an anomaly what belongs to a newer one: values of dimensions
// without order whose only evidence the newer one covers. If the newer one covers
// the workload itself, the anomaly is withdrawn, and reported anew by other
// evidence if there is any.
func (s *Search) disown(a *Anomaly, newer *MFS) {
	evidence := func(e *Experiment) bool {
		return e.Symptom == a.Symptom && a.MFS.Covers(e.Point) && !newer.Covers(e.Point)
	}
	base := a.base
	if newer.Covers(base.Point) {
		i := slices.IndexFunc(s.history, evidence)
		if i < 0 {
			return
		}
		base = s.history[i]
	}
	narrower := a.MFS.clone()
	changed := base != a.base
	for d := range narrower.conds {
		c := &narrower.conds[d]
		if c.free || s.space.dims[d].hasOrder() {
			continue
		}
		c.in = slices.DeleteFunc(slices.Clone(c.in), func(i int) bool {
			return i != base.Point[d][0] && !slices.ContainsFunc(s.history, func(e *Experiment) bool { return e.Point[d][0] == i && evidence(e) })
		})
		changed = changed || len(c.in) < len(a.MFS.conds[d].in)
	}
	if !changed {
		return
	}
	if base == a.base {
		s.revise(a, narrower)
		return
	}
	s.revise(a, nil)
	again := &Anomaly{Experiment: base.Number, Seconds: s.seconds, Symptom: base.Symptom, Workload: s.space.Workload(base.Point), MFS: narrower, base: base}
	s.anomalies = append(s.anomalies, again)
	s.findings = append(s.findings, Finding{Anomaly: *again})
}

// revise gives an anomaly another MFS, or withdraws it.
func (s *Search) revise(a *Anomaly, f *MFS) {
	a.MFS = f
	s.findings = append(s.findings, Finding{Anomaly: *a, Revised: s.experiments})
	s.markCovered()
}

func (s *Search) markCovered() {
	for _, e := range s.history {
		e.covered = s.covered(e.Point)
	}
}

// subset reports whether every member of inner is one of outer.
func subset(inner, outer *MFS) bool {
	for i := range outer.conds {
		o, in := &outer.conds[i], &inner.conds[i]
		if o.free {
			continue
		}
		if in.free {
			return false
		}
		if !inner.space.dims[i].hasOrder() {
			for _, v := range in.in {
				if !contains(o.in, v) {
					return false
				}
			}
			continue
		}
		if in.span.lo < o.span.lo || in.span.hi > o.span.hi || len(o.any) > len(in.any) {
			return false
		}
		for k, s := range o.any {
			if in.any[k].lo < s.lo || in.any[k].hi > s.hi {
				return false
			}
		}
	}
	return true
}

func contains(list []int, v int) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}

// worker is the part of a search that one host pair serves: it runs as a coroutine
// that stops wherever it needs a measurement.
type worker struct {
	search *Search
	next   func() (Point, bool)
	stop   func()
	yield  func(Point) bool
	asked  Point       // under way
	last   *Experiment // what came of it
}

// retries of a workload whose set-up failed.
const retries = 2

// measure has a point measured, again if its set-up failed. It is false when the
// search is over.
func (w *worker) measure(p Point) (*Experiment, bool) {
	for range 1 + retries {
		if !w.yield(p) {
			return nil, false
		}
		if w.last.Result.Status == OK || w.last.Result.Status == Invalid {
			break
		}
	}
	return w.last, true
}

func (s *Search) Spent() [3]int { return s.spent }
