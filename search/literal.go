package search

import "slices"

// The paper's MFS (section 5.2): each dimension alone, a value of each region in turn,
// with all else as it was.

// regions that the paper's MFS cuts an ordered dimension into.
const regions = 4

// literal finds the paper's MFS of an experiment and reports it. It is false when the
// search is over.
func (s *Search) literal(w *worker, e *experiment) bool {
	f := newMFS(s.space)
	for d := range s.space.dims {
		c := s.literalCondition(w, e, d)
		if !c.free {
			f.conds[d] = c
		}
	}
	if !s.covered(e.point) {
		s.literalReport(e, f)
	}
	return !w.ended
}

// literalProbe tries another coordinate of one dimension.
func (s *Search) literalProbe(w *worker, e *experiment, d int, at ...int) outcome {
	if slices.Equal(e.point[d], at) {
		return held
	}
	p := e.point.with(d, at...)
	if s.invalid[p.key()] {
		return unknown
	}
	probe, ok := w.measure(p)
	switch {
	case !ok || probe.result.Status != OK:
		return unknown
	case s.alike(e, probe):
		return held
	}
	return lost
}

func (s *Search) literalCondition(w *worker, e *experiment, d int) condition {
	dim := &s.space.dims[d]
	last := len(dim.Values) - 1
	c := condition{span: span{0, last}}
	if !dim.hasOrder() {
		for i := range dim.Values {
			if s.literalProbe(w, e, d, i) != lost { // what cannot be had is no evidence
				c.in = append(c.in, i)
			}
		}
		c.free = len(c.in) == len(dim.Values)
		return c
	}
	lo, hi := slices.Min(e.point[d]), slices.Max(e.point[d])
	low, high := s.literalProbe(w, e, d, 0), s.literalProbe(w, e, d, last)
	switch {
	case low != lost && high != lost:
		c.free = true
	case lo != hi && low == lost && high == lost:
		c.any = []span{{0, lo}, {hi, last}}
	default:
		if low == lost {
			c.span.lo = s.literalEdge(w, e, d, lo, 0)
		}
		if high == lost {
			c.span.hi = s.literalEdge(w, e, d, hi, last)
		}
	}
	return c
}

// literalEdge is the last value from one that holds towards an end that does not, of
// one value in each region between them, that holds too.
func (s *Search) literalEdge(w *worker, e *experiment, d, at, end int) int {
	best := at
	for k := 1; k < regions; k++ {
		i := at + k*(end-at)/regions
		if i == best || i == end {
			continue
		}
		if s.literalProbe(w, e, d, i) == lost {
			break
		}
		best = i
	}
	return best
}
