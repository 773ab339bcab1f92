package search

import "slices"

// The lift sampler: every dimension is cut into bins, a bin is drawn by how much
// more often it is among the experiments with the highest signal than among all.

const (
	refineCost    = 20  // probes that an anomaly's thresholds need, about
	quiet         = 60  // experiments of each pair without a new anomaly, after which one is refined
	drought       = 100 // experiments without a new anomaly, after which
	auditFrom     = .75 // of the budget on, members of MFS are audited:
	auditEvery    = 5   // proposals
	drawsBefore   = 200
	topShare      = .1 // of the experiments show a high signal
	freshShare    = .1 // of the proposals regard no signal
	relaxShare    = .3 // of the proposals take conditions of a known anomaly,
	mixShare      = .3 // take conditions of several,
	dryRelaxShare = .1 // and after a drought
	dryMixShare   = .2
	keepShare     = .6 // of its conditions
)

// lift searches by the lift sampler, takes every anomaly apart, and checks what it
// has from time to time.
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

// handle takes apart what an experiment showed, if it is new and that is worthwhile. It is
// false when the search is over.
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

// neighbour is an anomaly that is not refined and that an experiment may belong to, and the
// dimension without order, or the pattern, whose other value alone is against it.
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

// due is the anomaly to refine now: the oldest, when what is left of the budget is little
// more than what all need.
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

// sinceNew is how many experiments there were since one that showed a new anomaly.
func (s *Search) sinceNew() int {
	if len(s.anomalies) == 0 {
		return s.experiments
	}
	return s.experiments - s.anomalies[len(s.anomalies)-1].base.number
}

// random is the baseline: no signal, and the same care with what it finds, or none.
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

// outside draws until a point is neither known nor impossible.
func (s *Search) outside(draw func() point) point {
	p := draw()
	for range drawsBefore {
		if !s.covered(p) && (len(s.invalid) == 0 || !s.invalid[p.key()]) {
			break
		}
		p = draw()
	}
	return p
}

// propose draws by lift for one signal or two, or regards none. It takes over conditions
// of known anomalies, or meets a conjunction that no healthy experiment has ruled out.
func (s *Search) propose() point {
	weights := s.weights()
	known := s.popularity()
	relaxed, mixed := relaxShare, mixShare
	if s.sinceNew() > drought {
		relaxed, mixed = dryRelaxShare, dryMixShare
	}
	u := s.rnd.Float64()
	draw := func() point {
		p := make(point, len(weights))
		for i := range weights {
			p[i] = s.space.dims[i].draw(pick(weights[i], s.rnd), uniformShare, s.rnd)
		}
		switch {
		case u < relaxed:
			s.relax(p)
		case u < relaxed+mixed:
			known.mix(p, s.rnd)
		}
		return p
	}
	if u < relaxed+mixed {
		return s.outside(draw)
	}
	return s.untested(draw)
}

// weights of the bins of each dimension for a proposal.
func (s *Search) weights() [][]float64 {
	weights := make([][]float64, len(s.space.dims))
	for i := range s.space.dims {
		d := &s.space.dims[i]
		weights[i] = make([]float64, d.bins())
		for b := range weights[i] {
			weights[i][b] = d.base(b)
		}
	}
	if len(s.history) < 10 || s.rnd.Float64() < freshShare {
		return weights
	}
	for range 1 + s.rnd.IntN(2) { // an anomaly may need one part of a NIC under pressure, or two
		for i, lifts := range s.liftsOf(s.rnd.IntN(len(s.description.Counters) + 1)) {
			for b := range lifts {
				weights[i][b] *= lifts[b]
			}
		}
	}
	return weights
}

// relax gives a proposal some of the conditions of a known anomaly: others share them.
func (s *Search) relax(p point) {
	known := slices.Clone(s.cfg.Known)
	for _, a := range s.anomalies {
		if a.MFS != nil {
			known = append(known, a.MFS)
		}
	}
	if len(known) == 0 {
		return
	}
	f := known[s.rnd.IntN(len(known))]
	member := f.random(s.rnd)
	for _, d := range f.dimensions() {
		if s.rnd.Float64() < keepShare {
			p[d] = member[d]
		}
	}
}

// lifts of the bins of each dimension for a signal, as they were when so much was known.
type lifts struct {
	experiments, revisions int
	of                     [][]float64
}

// staleShare of the history may be newer than the lifts.
const staleShare = .02

// liftsOf a signal: how much more often each bin is among the experiments with the highest
// signal than among all.
func (s *Search) liftsOf(signal int) [][]float64 {
	l := &s.lifts[signal]
	if l.of == nil || l.revisions != s.revisions || float64(len(s.history)-l.experiments) > staleShare*float64(len(s.history)) {
		*l = lifts{len(s.history), s.revisions, s.countLifts(signal)}
	}
	return l.of
}

func (s *Search) countLifts(signal int) [][]float64 {
	limit := s.top(signal, topShare, nil)
	all := make([][]float64, len(s.space.dims))
	high := make([][]float64, len(all))
	for i := range all {
		n := s.space.dims[i].bins()
		all[i], high[i] = make([]float64, n), make([]float64, n)
	}
	n, tops := 0., 0.
	for _, e := range s.history {
		if e.covered {
			continue
		}
		n++
		top := e.signals[signal] >= limit
		if top {
			tops++
		}
		for i := range all {
			b := e.bins[i]
			all[i][b]++
			if top {
				high[i][b]++
			}
		}
	}
	for i := range all {
		for b := range all[i] {
			all[i][b] = (high[i][b] + 1) / (all[i][b]*tops/max(1, n) + 1)
		}
	}
	return all
}
