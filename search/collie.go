package search

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Simulated annealing of Algorithm 1. The paper gives no temperatures; those of the
// authors' release do not apply, since its energies have another scale.
const (
	startTemperature = 1.
	lastTemperature  = .05
	coolingFactor    = .8
	stepsAtOne       = 8 // n of Algorithm 1
	mutated          = 3
	rankedBy         = 10 // random points used to rank counters (section 7.2)
)

// extreme proposes points at the ends of dimensions: 40% lowest, 40% highest, 20% any;
// patterns by class.
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
		return d.draw(bin, halfUniform, r)
	}
	if !d.Ordered {
		return d.Random(r)
	}
	switch u := r.Float64(); {
	case u < .4:
		return []int{0}
	case u < .8:
		return []int{len(d.Values) - 1}
	}
	return d.Random(r)
}

// collie is Algorithm 1: it drives up each signal in turn by annealing, the one with
// the largest variation first.
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
	signals := rank(first)
	if s.cfg.PerformanceOnly {
		signals = []int{len(first[0].signals) - 1}
	}
	for {
		for _, signal := range signals {
			if !s.anneal(w, signal, draw) {
				return
			}
		}
	}
}

// visit measures a point, and minimises an anomaly if it shows one.
func (s *Search) visit(w *worker, p point) (*experiment, bool) {
	e, ok := w.measure(p)
	switch {
	case !ok || e.symptom == Healthy || s.covered(e.point):
	case s.cfg.NoMFS:
		s.reportPoint(e)
	default:
		ok = s.literal(w, e)
	}
	return e, ok
}

// pointMFS covers a workload only and, for patterns, similar ones.
func pointMFS(space *Space, p point) *MFS {
	f := newMFS(space)
	for d, at := range p {
		c := condition{in: at, span: span{slices.Min(at), slices.Max(at)}}
		if space.dims[d].Pattern {
			for _, i := range at {
				c.any = append(c.any, span{i, i})
			}
		}
		f.conds[d] = c
	}
	return f
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
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(variation[b], variation[a]) })
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
			if e.symptom != Healthy && !s.cfg.NoMFS {
				if old, ok = s.visit(w, s.outside(func() point { return draw(s.rnd) })); !ok {
					return false
				}
			}
		}
	}
	return ok
}

// energy is the change from a to b: (B-A)/A for performance, stored here with opposite
// sign, and (A-B)/B for a diagnostic counter.
func energy(a, b []float64, signal int) float64 {
	if signal == len(a)-1 {
		return (a[signal] - b[signal]) / max(-a[signal], 1e-9)
	}
	return (a[signal] - b[signal]) / max(b[signal], 1e-9)
}

// mutate changes dimensions of a point. The paper mutates one of its four dimensions,
// each of which corresponds to several of an engine's.
func (s *sampler) mutate(p point, draw func(*rand.Rand) point) point {
	fresh := draw(s.rnd)
	p = slices.Clone(p)
	for range mutated {
		d := s.rnd.IntN(len(p))
		p[d] = fresh[d]
	}
	return p
}
