package search

import "slices"

// coarsePattern is the first condition of a message pattern that matters: all messages
// of one size, or a mix of the smallest and the largest.
func (m *minimizer) coarsePattern(d int) condition {
	last := len(m.space.dims[d].Values) - 1
	lo, hi := slices.Min(m.cur[d]), slices.Max(m.cur[d])
	end := m.lostAt[d][0]
	for _, u := range slices.Compact([]int{hi, lo}) {
		if _, was := m.holdsWith(m.cur, d, []int{u}); was != held {
			continue
		}
		s, outer := span{min(lo, u), max(hi, u)}, span{0, last}
		if end < u {
			outer.lo = end + 1
		} else {
			outer.hi = end - 1
		}
		if s == (span{0, last}) { // held both by one size and by a mix of the smallest and the largest: one such message is enough
			return condition{span: s, any: []span{{u, u}}, outer: &condition{span: s, any: []span{outer}}}
		}
		return condition{span: s, outer: &condition{span: outer}}
	}
	any := []span{{0, lo}, {hi, last}}
	if lo == hi {
		return condition{span: span{lo, hi}}
	}
	return condition{span: span{0, last}, any: any, outer: &condition{span: span{0, last}, any: []span{{0, hi - 1}, {lo + 1, last}}}}
}

// pattern finds the condition of a message pattern that matters.
func (m *minimizer) pattern(cur point, d int) {
	last := len(m.space.dims[d].Values) - 1
	lo, hi := slices.Min(cur[d]), slices.Max(cur[d])
	for _, u := range slices.Compact([]int{hi, lo}) {
		if _, was := m.holdsWith(cur, d, []int{u}); was != held {
			continue
		}
		s := span{0, last}
		from := cur.with(d, u)
		if i, was := m.edge(from, d, 0); was == lost || was == other {
			s.lo = m.bisect(cur, d, u, i, single)
		}
		if i, was := m.edge(from, d, last); was == lost || was == other {
			s.hi = m.bisect(cur, d, u, i, single)
		}
		m.patternOf(cur, d, u, s)
		return
	}
	m.mix(cur, d, lo, hi)
}

// edge returns the feasible index nearest to an end, and its outcome.
func (m *minimizer) edge(cur point, d, end int) (int, outcome) {
	for _, at := range m.towards(cur[d], d, []int{end}) {
		if _, was := m.holdsWith(cur, d, at); was != unknown || m.over {
			return at[0], was
		}
	}
	return end, unknown
}

// patternOf decides whether every message or at least one must be in the span.
func (m *minimizer) patternOf(cur point, d, u int, s span) {
	dim := &m.space.dims[d]
	last := len(dim.Values) - 1
	if s == (span{0, last}) { // no size matters alone, but the mix does
		m.mix(cur, d, slices.Min(cur[d]), slices.Max(cur[d]))
		return
	}
	other := s.lo - 1
	if s.lo == 0 {
		other = s.hi + 1
	}
	if dim.MaxLength > 1 {
		if _, was := m.holdsWith(cur, d, []int{u, other}); was == held {
			m.replace(d, condition{span: span{0, last}, any: []span{s}})
			return
		}
	}
	m.replace(d, condition{span: s})
}

// mix finds the ranges that must each contain a message.
func (m *minimizer) mix(cur point, d, lo, hi int) {
	last := len(m.space.dims[d].Values) - 1
	if lo == hi {
		return
	}
	if _, was := m.holdsWith(cur, d, []int{lo, hi}); was != held {
		m.elements(cur, d)
		return
	}
	small := m.bisect(cur, d, lo, hi, func(i int) []int { return []int{i, hi} })
	large := m.bisect(cur, d, hi, lo, func(i int) []int { return []int{lo, i} })
	m.replace(d, condition{span: span{0, last}, any: []span{{0, small}, {large, last}}})
}

// elements reduces a pattern to the messages that are all needed.
func (m *minimizer) elements(cur point, d int) {
	at := slices.Clone(cur[d])
	for k := 0; k < len(at) && len(at) > 2; {
		less := slices.Delete(slices.Clone(at), k, k+1)
		if _, was := m.holdsWith(cur, d, less); was == held {
			at = less
		} else {
			k++
		}
	}
	slices.Sort(at)
	c := condition{span: span{0, len(m.space.dims[d].Values) - 1}}
	for _, i := range slices.Compact(at) {
		c.any = append(c.any, span{i, i})
	}
	m.replace(d, c)
}

// replace replaces a coarse condition, unless that would exclude the anomaly itself.
func (m *minimizer) replace(d int, c condition) {
	if m.over {
		return
	}
	m.set(d, c)
}
