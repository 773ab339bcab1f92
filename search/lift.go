package search

const (
	refineCost = 20  // approximate number of probes to find an anomaly's thresholds
	quiet      = 60  // experiments per pair without a new anomaly before one is refined
	drought    = 100 // experiments without a new anomaly before the dry shares apply
	auditFrom  = .75 // of the budget spent: from here on members of MFS are audited,
	auditEvery = 5   // once per so many proposals
)

// lift searches with the lift sampler, minimises every anomaly, and periodically audits
// what it has found.
func (s *Search) lift(w *worker) {
	for proposed := 1; ; {
		if a := s.due(); a != nil && !s.refine(w, a) {
			return
		}
		if proposed%auditEvery == 0 && float64(s.experiments) >= auditFrom*float64(s.cfg.Budget) {
			proposed++
			if !s.audit(w) {
				return
			}
		}
		if !s.takeUnexplained(w) {
			return
		}
		e, ok := w.propose(s.propose())
		if ok && e.result.Status == OK {
			proposed++
		}
		if !ok || !s.handle(w, e) {
			return
		}
	}
}

// handle minimises the anomaly that an experiment shows, if it is new and worthwhile.
// It returns false when the search is over.
func (s *Search) handle(w *worker, e *experiment) bool {
	for e.symptom != Healthy && !s.covered(e.point) {
		a, d := s.neighbour(e)
		if a == nil {
			return !s.worthwhile(e) || s.takeApart(w, e)
		}
		if !s.extend(w, a, d) {
			return false
		}
	}
	return true
}

// neighbour returns an unrefined anomaly that an experiment may belong to, and the
// single dimension, unordered or a pattern, whose value contradicts it.
func (s *Search) neighbour(e *experiment) (*Anomaly, int) {
	for _, a := range s.anomalies {
		if a.MFS == nil || a.open == nil || a.Symptom != e.symptom {
			continue
		}
		broken := a.MFS.broken(e.point, false)
		if len(broken) != 1 || !a.open.same(e) {
			continue
		}
		d := broken[0]
		if dim := &s.space.dims[d]; (dim.Pattern || !dim.Ordered) && !a.open.extended[d] {
			return a, d
		}
	}
	return nil, 0
}

// due returns the oldest unrefined anomaly if it is time to refine it: the remaining
// budget is little more than all need, or there was no new anomaly for some time.
func (s *Search) due() *Anomaly {
	var first *Anomaly
	n := 0
	for _, a := range s.anomalies {
		if a.MFS != nil && a.open != nil {
			n++
			if first == nil {
				first = a
			}
		}
	}
	if n > 0 && (s.cfg.Budget-s.experiments <= 2*n*refineCost || min(s.experiments-s.refined, s.sinceNew()) > quiet*s.cfg.Pairs) {
		return first
	}
	return nil
}

// random is the baseline: no signal, with the same MFS search, or without.
func (s *Search) random(w *worker) {
	for ok := true; ok && s.cfg.NoMFS; {
		_, ok = s.visit(w, s.outside(func() point { return s.space.random(s.rnd) }))
	}
	for {
		if a := s.due(); a != nil && !s.refine(w, a) {
			return
		}
		if !s.takeUnexplained(w) {
			return
		}
		e, ok := w.propose(s.outside(func() point { return s.space.random(s.rnd) }))
		if !ok || !s.handle(w, e) {
			return
		}
	}
}
