package search

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Simulated annealing of Algorithm 1. The paper gives no temperatures; those of the
// authors' release are not used, because it compares energies of another scale.
const (
	startTemperature = 1.
	lastTemperature  = .05
	coolingFactor    = .8
	stepsAtOne       = 8  // n of Algorithm 1
	rankedBy         = 10 // random points by which counters are ranked (section 7.2)
)

// extreme is a proposal at the ends: 40% lowest, 40% highest, 20% any; patterns by
// class.
func (s *Space) extreme(r *rand.Rand) point {
	p := s.random(r)
	for i := range s.dims {
		p[i] = s.dims[i].extreme(r)
	}
	return p
}

func (d *Dimension) extreme(r *rand.Rand) []int {
	if d.Pattern {
		bin := r.IntN(patternBins)
		if d.base(bin) == 0 {
			bin = anyPattern
		}
		return d.draw(bin, r)
	}
	if !d.Ordered {
		return d.random(r)
	}
	switch u := r.Float64(); {
	case u < .4:
		return []int{0}
	case u < .8:
		return []int{len(d.Values) - 1}
	}
	return d.random(r)
}

// collie is Algorithm 1: each signal in turn is driven up by annealing, the one that
// spreads most first.
func (s *Search) collie(w *worker, draw func(*rand.Rand) point) {
	var first []*experiment
	for len(first) < rankedBy {
		e, ok := s.visit(w, s.outside(func() point { return draw(s.rnd) }))
		if !ok {
			return
		}
		if e.result.Status == OK {
			first = append(first, e)
		}
	}
	for {
		for _, signal := range rank(first) {
			if !s.anneal(w, signal, draw) {
				return
			}
		}
	}
}

// visit measures a point, and takes an anomaly apart.
func (s *Search) visit(w *worker, p point) (*experiment, bool) {
	e, ok := w.measure(p)
	if ok && e.symptom != Healthy && !s.covered(e.point) {
		ok = s.literal(w, e)
	}
	return e, ok
}

// rank orders the signals by standard deviation over mean (section 7.2).
func rank(first []*experiment) []int {
	order := make([]int, len(first[0].signals))
	variation := make([]float64, len(order))
	for i := range order {
		var p spread
		for _, e := range first {
			p.add(e.signals[i])
		}
		order[i] = i
		if p.mean != 0 {
			variation[i] = p.deviation() / math.Abs(p.mean)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if variation[a] > variation[b] {
			return -1
		}
		return 1
	})
	return order
}

// anneal is the inner loops of Algorithm 1 for one signal.
func (s *Search) anneal(w *worker, signal int, draw func(*rand.Rand) point) bool {
	old, ok := s.visit(w, s.outside(func() point { return draw(s.rnd) }))
	for t := startTemperature; ok && t > lastTemperature; t *= coolingFactor {
		for range stepsAtOne {
			p := s.outside(func() point { return s.mutate(old.point, draw) })
			e, more := s.visit(w, p)
			if !more {
				return false
			}
			if e.result.Status != OK {
				continue
			}
			if old.result.Status != OK {
				old = e
			} else if delta := energy(old.signals, e.signals, signal); delta < 0 || s.rnd.Float64() < math.Exp(-delta/t) {
				old = e
			}
			if e.symptom != Healthy {
				if old, ok = s.visit(w, s.outside(func() point { return draw(s.rnd) })); !ok {
					return false
				}
			}
		}
	}
	return ok
}

// energy is the change from a to b: (B-A)/A for performance, which is kept here with
// its sign turned, and (A-B)/B for a diagnostic counter.
func energy(a, b []float64, signal int) float64 {
	if signal == len(a)-1 {
		return (a[signal] - b[signal]) / max(-a[signal], 1e-9)
	}
	return (a[signal] - b[signal]) / max(b[signal], 1e-9)
}

// mutate changes one dimension.
func (s *Search) mutate(p point, draw func(*rand.Rand) point) point {
	d := s.rnd.IntN(len(p))
	return p.with(d, draw(s.rnd)[d]...)
}

// literal is the paper's MFS: each dimension alone, a value of each region in turn
// with all else as it was (section 5.2).
func (s *Search) literal(w *worker, e *experiment) bool {
	f := newMFS(s.space)
	for d := range s.space.dims {
		c, ok := s.literalCondition(w, e, d)
		if !ok {
			return false
		}
		if !c.free {
			f.conds[d] = c
		}
	}
	if !s.covered(e.point) {
		s.literalReport(e, f)
	}
	return true
}

func (s *Search) literalCondition(w *worker, e *experiment, d int) (condition, bool) {
	dim := &s.space.dims[d]
	last := len(dim.Values) - 1
	c := condition{span: span{0, last}}
	holds := func(at ...int) (bool, bool) {
		probe, ok := w.measure(e.point.with(d, at...))
		return ok && probe.symptom == e.symptom, ok
	}
	if !dim.hasOrder() {
		for i := range dim.Values {
			same, ok := i == e.point[d][0], true
			if !same {
				same, ok = holds(i)
			}
			if !ok {
				return c, false
			}
			if same {
				c.in = append(c.in, i)
			}
		}
		c.free = len(c.in) == len(dim.Values)
		return c, true
	}
	lo, hi := slices.Min(e.point[d]), slices.Max(e.point[d])
	var ends [2]bool
	for k, end := range []int{0, last} {
		same, ok := true, true
		if at := e.point[d]; len(at) > 1 || at[0] != end {
			same, ok = holds(end)
		}
		if !ok {
			return c, false
		}
		ends[k] = same
	}
	switch {
	case ends[0] && ends[1]:
		c.free = true
		return c, true
	case dim.Pattern && lo != hi && !ends[0] && !ends[1]:
		c.any = []span{{0, lo}, {hi, last}}
		return c, true
	}
	var ok bool
	c.span, ok = literalSpan(holds, lo, hi, last, ends)
	return c, ok
}

// literalSpan tries a value of each quarter of the order between the anomaly and the
// end that loses it.
func literalSpan(holds func(...int) (bool, bool), lo, hi, last int, ends [2]bool) (span, bool) {
	s := span{0, last}
	if !ends[0] {
		s.lo = lo
		if i := lo / 2; i < lo && i > 0 {
			same, ok := holds(i)
			if !ok {
				return s, false
			}
			if same {
				s.lo = i
			}
		}
	}
	if !ends[1] {
		s.hi = hi
		if i := (hi + last + 1) / 2; i > hi && i < last {
			same, ok := holds(i)
			if !ok {
				return s, false
			}
			if same {
				s.hi = i
			}
		}
	}
	return s, true
}
