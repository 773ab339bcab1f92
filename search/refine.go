package search

import "slices"

// The careful MFS, second part: thresholds are bisected and other values tried; then
// members with untried values of irrelevant dimensions are checked.

// Limits of refining.
const (
	checks     = 3  // members an MFS is checked with, or more after it was narrowed
	narrowings = 4  // of an MFS by its checks
	attempts   = 20 // at finding a feasible workload

	// sidesMatter is the expected number, in total, of dimensions that lose the anomaly on its own side too: below one.
	sidesMatter = .3
	// oneRandomIn of the irrelevant unordered dimensions of a member keeps its random value, the others get an untried one.
	oneRandomIn = 4
)

// refine finds the thresholds of an anomaly. It returns false when the search is over.
func (s *Search) refine(w *worker, a *Anomaly) bool {
	m := a.open
	a.open = nil
	m.worker, m.own, m.over = w, a, false
	a.busy = true
	m.resolve()
	m.sides()
	for _, d := range m.needed {
		m.boundFrom(m.cur, d, m.lostAt[d])
	}
	m.contradicted()
	m.check()
	a.busy = false
	s.refined = s.experiments
	if a.MFS != nil {
		m.settle()
		s.revise(a, m.mfs)
		s.join(a)
		s.absorb(a)
		s.withdrawNested(false)
	}
	return !w.ended
}

// extend finds the condition of one dimension of an unrefined anomaly. It returns false
// when the search is over.
func (s *Search) extend(w *worker, a *Anomaly, d int) bool {
	m := a.open
	a.open = nil // so that no other pair takes it
	m.worker, m.own, m.over = w, a, false
	a.busy = true
	if m.extended[d] = true; slices.Contains(m.needed, d) {
		m.boundFrom(m.cur, d, m.lostAt[d])
	}
	a.busy = false
	if a.MFS != nil {
		m.mfs = m.mfs.clone()
		m.mfs.conds[d].outer = nil
		a.open = m
		s.revise(a, m.mfs)
		s.join(a)
	}
	return !w.ended
}

// resolve retries dimensions whose probes showed other anomalies, which are known by
// now and can be avoided.
func (m *minimizer) resolve() {
	for _, d := range slices.Clone(m.needed) {
		end, ok := m.doubt[d]
		if !ok || m.over || !m.takeUnexplained(m.worker) {
			continue
		}
		m.needed = slices.DeleteFunc(m.needed, func(k int) bool { return k == d })
		if m.matters(&m.cur, d, end) || m.over {
			m.needed = append(m.needed, d)
			continue
		}
		m.mfs.conds[d] = condition{free: true, span: span{0, len(m.space.dims[d].Values) - 1}}
	}
}

// settle reduces each condition to what was seen to hold.
func (m *minimizer) settle() {
	m.mfs = m.mfs.clone()
	for d := range m.mfs.conds {
		m.mfs.conds[d].outer = nil
	}
}

// nearer is the end of a dimension on the side of the anomaly; for an irrelevant
// unordered one, an untried value; nil: none.
func (m *minimizer) nearer(d int) []int {
	dim := &m.space.dims[d]
	last := len(dim.Values) - 1
	matters := slices.Contains(m.needed, d)
	switch {
	case last == 0 || matters && (dim.Pattern || !dim.Ordered):
		return nil
	case !dim.hasOrder():
		if v := m.untried(d); !m.tried[d][v] {
			return []int{v}
		}
		return nil
	}
	end := 0
	if 2*middle(m.base.point[d]) >= float64(last) {
		end = last
	}
	if m.tried[d][end] {
		return nil
	}
	return []int{end}
}

// sides finds dimensions that lose the anomaly on its own side too, or at untried
// values.
func (m *minimizer) sides() {
	chance := make([]float64, len(m.space.dims))
	for d := range chance {
		chance[d] = sidesMatter / float64(len(chance))
	}
	lostFar := m.lostAt
	m.lostAt = map[int][]int{}
	cur, both := m.reduce(m.cur, m.dimensions(), m.nearer, chance)
	for _, d := range both {
		m.boundFrom(cur, d, m.lostAt[d])
	}
	m.lostAt = lostFar
}

// boundFrom finds the condition of a dimension that loses the anomaly between a point
// and another coordinate.
func (m *minimizer) boundFrom(cur point, d int, lostAt []int) {
	dim := &m.space.dims[d]
	last := len(dim.Values) - 1
	switch {
	case m.over:
	case dim.Pattern:
		m.pattern(cur, d)
	case !dim.Ordered:
		m.alternatives(cur, d)
	case lostAt[0] > cur[d][0]:
		m.tighten(d, span{0, m.bisect(cur, d, cur[d][0], lostAt[0], single)})
	default:
		m.tighten(d, span{m.bisect(cur, d, cur[d][0], lostAt[0], single), last})
	}
}

// tighten replaces the coarse bound on one side of an ordered dimension by the exact one.
func (m *minimizer) tighten(d int, s span) {
	c := m.mfs.conds[d]
	last := len(m.space.dims[d].Values) - 1
	if c.free {
		c = condition{span: span{0, last}}
	}
	if s.lo > 0 {
		c.span.lo = s.lo
	}
	if s.hi < last {
		c.span.hi = s.hi
	}
	if c.outer != nil {
		outer := *c.outer
		outer.span = span{max(outer.span.lo, s.lo), min(outer.span.hi, s.hi)}
		c.outer = &outer
	}
	c.free = false
	m.set(d, c)
}

// alternatives finds which other values of an unordered dimension trigger too.
func (m *minimizer) alternatives(cur point, d int) {
	in := []int{cur[d][0]}
	matters := false // some value does not trigger
	for i := range m.space.dims[d].Values {
		if i == cur[d][0] {
			continue
		}
		switch _, was := m.holdsWith(cur, d, []int{i}); was {
		case held:
			in = append(in, i)
		case lost, other:
			matters = true
		}
		if m.over {
			return
		}
	}
	if matters {
		slices.Sort(in)
		m.set(d, condition{in: in})
	}
}

// bisect returns the last index from in towards out at which the anomaly holds.
func (m *minimizer) bisect(cur point, d, in, out int, at func(i int) []int) int {
	for (in-out > 1 || out-in > 1) && !m.over {
		mid := (in + out) / 2
		if _, was := m.holdsWith(cur, d, at(mid)); was == held {
			in = mid
		} else {
			out = mid
		}
	}
	return in
}

func single(i int) []int { return []int{i} }

// check measures members with untried values of irrelevant dimensions, and narrows the
// MFS if one does not show the anomaly.
func (m *minimizer) check() {
	narrowed := 0
	for k := 0; k < checks && narrowed < narrowings; k++ {
		p, was := m.member()
		if m.over || was == unknown || k > 0 && was == held && !m.untriedLeft() {
			return
		}
		if was == lost {
			m.exclude(p)
			narrowed++
			k--
		}
	}
}

// contradicted narrows the MFS by healthy experiments that it covers.
func (m *minimizer) contradicted() {
	for range narrowings {
		i := slices.IndexFunc(m.history, func(e *experiment) bool {
			return e.symptom == Healthy && m.mfs.covers(e.point) && !m.excluded[e]
		})
		if i < 0 || m.over {
			return
		}
		m.excluded[m.history[i]] = true
		m.exclude(m.history[i].point)
	}
}

// untriedLeft reports whether an irrelevant unordered dimension has untried values.
func (m *minimizer) untriedLeft() bool {
	for d := range m.mfs.conds {
		if dim := &m.space.dims[d]; m.mfs.conds[d].free && !dim.hasOrder() && len(m.tried[d]) < len(dim.Values) {
			return true
		}
	}
	return false
}

// member measures a member that belongs to no other anomaly, with untried values if
// possible; unknown: none was found.
func (m *minimizer) member() (point, outcome) {
	tries := attempts
	for range drawsBefore {
		p := m.mfs.random(m.rnd)
		for d := range p {
			if m.mfs.conds[d].free && !m.space.dims[d].hasOrder() && m.rnd.IntN(oneRandomIn) > 0 {
				p[d] = []int{m.untried(d)}
			}
		}
		if m.others(p) != nil || m.invalid[p.key()] {
			continue
		}
		if _, was := m.holds(m.base.point, p); was != unknown || m.over {
			return p, was
		}
		if tries--; tries == 0 {
			break
		}
	}
	return nil, unknown
}

// exclude narrows the MFS by what makes a member healthy.
func (m *minimizer) exclude(p point) {
	var differ []int
	for d := range p {
		if !slices.Equal(p[d], m.base.point[d]) {
			differ = append(differ, d)
		}
	}
	chance := make([]float64, len(p))
	for d := range chance {
		chance[d] = 1 / float64(1+len(differ))
	}
	lostAt := m.lostAt
	m.lostAt = map[int][]int{}
	cur, guilty := m.reduce(m.base.point, differ, func(d int) []int { return p[d] }, chance)
	for _, d := range guilty {
		m.boundFrom(cur, d, m.lostAt[d])
		if !slices.Contains(m.needed, d) {
			m.needed = append(m.needed, d)
			lostAt[d], m.cur = m.lostAt[d], m.cur.with(d, cur[d]...)
		}
	}
	m.lostAt = lostAt
}

// audit measures a member of a standing MFS, and revises the MFS if it is healthy. It
// returns false when the search is over.
func (s *Search) audit(w *worker) bool {
	var standing []*Anomaly
	for _, a := range s.anomalies {
		if a.MFS != nil && a.open == nil && !a.busy {
			standing = append(standing, a)
		}
	}
	if len(standing) == 0 {
		return true
	}
	a := standing[s.rnd.IntN(len(standing))]
	m := s.newMinimizer(w, a.base)
	m.own, m.mfs, m.needed = a, a.MFS.clone(), a.MFS.dimensions()
	a.busy = true
	m.contradicted()
	p, was := m.member()
	if was == lost {
		m.exclude(p)
	}
	if a.busy = false; !m.over && a.MFS != nil && !(subset(m.mfs, a.MFS) && subset(a.MFS, m.mfs)) {
		s.revise(a, m.mfs)
	}
	return !w.ended
}
