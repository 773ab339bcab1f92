package search

import "slices"

// The paper's MFS (section 5.2): for each dimension alone, one value per region is
// tried with everything else unchanged.

// regions per ordered dimension in the paper's MFS.
const regions = 4

// literal finds the paper's MFS of an experiment and reports it. It returns false when
// the search is over.
func (s *Search) literal(w *worker, e *experiment) bool {
	f := newMFS(s.space)
	for d := range s.space.dims {
		c := s.literalCondition(w, e, d)
		if !c.free {
			f.conds[d] = c
		}
	}
	if len(f.dimensions()) == 0 { // every change showed an anomaly: only the point itself is known
		f = pointMFS(s.space, e.point)
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
	case e.alike(probe):
		return held
	}
	return lost
}

func (s *Search) literalCondition(w *worker, e *experiment, d int) condition {
	dim := &s.space.dims[d]
	last := len(dim.Values) - 1
	c := condition{span: span{0, last}}
	if !dim.hasOrder() {
		c.free = true
		for i := range dim.Values {
			switch s.literalProbe(w, e, d, i) {
			case held:
				c.in = append(c.in, i)
			case lost: // infeasible workloads are not evidence
				c.free = false
			}
		}
		return c
	}
	lo, hi := slices.Min(e.point[d]), slices.Max(e.point[d])
	low, high := s.literalEnd(w, e, d, 0), s.literalEnd(w, e, d, last)
	switch {
	case low != lost && high != lost:
		c.free = true
	case lo != hi && low == lost && high == lost:
		c.any = []span{{0, dim.region(lo).hi}, {dim.region(hi).lo, last}}
	default:
		if low == lost {
			c.span.lo = s.literalEdge(w, e, d, lo, 0).lo
		}
		if high == lost {
			c.span.hi = s.literalEdge(w, e, d, hi, last).hi
		}
	}
	return c
}

// region returns the region of values that contains an index.
func (d *Dimension) region(i int) span {
	n := len(d.Values)
	k := min(regions, n)
	r := i * k / n
	return span{(r*n + k - 1) / k, ((r+1)*n+k-1)/k - 1}
}

// literalEnd tries an end of a dimension, unless all messages are in its region.
func (s *Search) literalEnd(w *worker, e *experiment, d, end int) outcome {
	r := s.space.dims[d].region(end)
	if r.holds(slices.Min(e.point[d])) && r.holds(slices.Max(e.point[d])) {
		return held
	}
	return s.literalProbe(w, e, d, end)
}

// literalEdge returns the last region with a value that holds, going from the region of
// at, which holds, towards an end that does not.
func (s *Search) literalEdge(w *worker, e *experiment, d, at, end int) span {
	dim := &s.space.dims[d]
	best := dim.region(at)
	for !best.holds(end) {
		next := best.hi + 1
		if end < at {
			next = best.lo - 1
		}
		r := dim.region(next)
		if r.holds(end) || s.literalProbe(w, e, d, (r.lo+r.hi)/2) != held {
			break
		}
		best = r
	}
	return best
}
