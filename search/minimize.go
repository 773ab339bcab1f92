package search

import (
	"cmp"
	"slices"
)

// The careful MFS is found in two parts. The coarse part is measured when an anomaly is
// first seen: adaptive group testing moves dimensions to the other end; those that can
// be moved without losing the anomaly do not matter. The rest, thresholds and other
// values that trigger (refine.go), is deferred; until then the search avoids everything
// that may belong to the anomaly.

// minimizer finds the MFS of one anomaly.
type minimizer struct {
	*Search
	worker   *worker
	base     *experiment
	cur      point         // shows the anomaly with irrelevant dimensions moved away
	needed   []int         // dimensions that matter, in order of discovery
	lostAt   map[int][]int // by dimension: coordinate that lost the anomaly
	doubt    map[int][]int // by dimension: end, if probes on the way to it showed other anomalies
	mfs      *MFS
	own      *Anomaly // the anomaly being refined; nil: it is new
	seen     map[string]outcome
	tried    []map[int]bool       // by dimension: values at which the anomaly held
	pool     []int                // dimensions that reduce left undecided
	excluded map[*experiment]bool // healthy ones used to narrow the MFS
	certain  bool                 // avoid only points that surely belong to other anomalies
	extended map[int]bool         // dimensions whose condition was found ahead of the others
	group    bool                 // several dimensions are being moved at once
	over     bool                 // the search is over
}

func (s *Search) newMinimizer(w *worker, e *experiment) *minimizer {
	m := &minimizer{Search: s, worker: w, base: e, cur: e.point, mfs: newMFS(s.space),
		lostAt: map[int][]int{}, doubt: map[int][]int{}, extended: map[int]bool{}, excluded: map[*experiment]bool{}, seen: map[string]outcome{}, tried: make([]map[int]bool, len(s.space.dims))}
	for d := range m.tried {
		m.tried[d] = map[int]bool{}
	}
	m.remember(e.point, held)
	return m
}

// minimize finds the coarse MFS of an experiment that showed a symptom, and reports it.
// It returns false when the search is over.
func (s *Search) minimize(w *worker, e *experiment) bool {
	e.apart = true
	m := s.newMinimizer(w, e)
	m.cur, m.needed = m.reduce(e.point, m.dimensions(), m.farther, m.chances())
	m.coarse()
	m.mixes()
	m.contradicted()
	if len(m.needed) <= wide { // if wrong, it would hide the most
		m.check()
	}
	if m.over {
		m.pin()
	}
	m.finish()
	return !w.ended
}

// finish reports an anomaly and releases its probes: those that its MFS does not cover
// show another one.
func (m *minimizer) finish() {
	if m.knownBy(m.base.point) == nil { // otherwise another pair has found it
		m.report(m)
	}
	for _, e := range m.history {
		if e.of == m {
			e.of = nil
		}
	}
}

// mixes finds the thresholds of patterns that must mix sizes. Without them the search
// would have to avoid most sizes.
func (m *minimizer) mixes() {
	for _, d := range m.needed {
		if c := m.mfs.conds[d]; len(c.any) == 2 && c.outer != nil && !m.over {
			m.mix(m.cur, d, slices.Min(m.cur[d]), slices.Max(m.cur[d]))
			m.extended[d], m.mfs.conds[d].outer = true, nil
		}
	}
}

func (m *minimizer) dimensions() []int {
	dims := make([]int, len(m.space.dims))
	for i := range dims {
		dims[i] = i
	}
	return dims
}

// wide is up to how many conditions an MFS counts as wide.
const wide = 2

// usualConditions is the prior number of an anomaly's conditions (Table 2: 3 or 4).
const usualConditions = 3.5

// chances is the probability that each dimension matters: the share of known anomalies
// to which it does, shrunk towards the mean of all dimensions.
func (s *findings) chances() []float64 {
	const weight = 2 // of the mean, in anomalies
	chance := make([]float64, len(s.space.dims))
	known, conditions := 0., usualConditions
	for _, a := range s.anomalies {
		if a.MFS == nil {
			continue
		}
		known++
		for _, d := range a.MFS.dimensions() {
			chance[d]++
			conditions++
		}
	}
	mean := min(.5, conditions/(known+1)/float64(len(chance)))
	for d := range chance {
		chance[d] = (chance[d] + weight*mean) / (known + weight)
	}
	return chance
}

// farther is the end of a dimension away from the anomaly; nil if it has a single value.
func (m *minimizer) farther(d int) []int {
	dim, at := &m.space.dims[d], m.base.point[d]
	last := len(dim.Values) - 1
	switch {
	case last == 0:
		return nil
	case !dim.hasOrder():
		return []int{m.untried(d)}
	case 2*middle(at) >= float64(last):
		return []int{0}
	}
	return []int{last}
}

// untried returns the value of an unordered dimension that, if possible, was not tried
// and rarely shows symptoms: probes should not meet other anomalies.
func (m *minimizer) untried(d int) int {
	n := len(m.space.dims[d].Values)
	first := m.rnd.IntN(n)
	best, least := first, 2.
	for i := range n {
		v := (first + i) % n
		if share := (m.shown[d][v].bad + 1) / (m.shown[d][v].all + 2); !m.tried[d][v] && share < least {
			best, least = v, share
		}
	}
	return best
}

func middle(at []int) float64 {
	sum := 0
	for _, i := range at {
		sum += i
	}
	return float64(sum) / float64(len(at))
}

// reduce moves as many dimensions as possible without losing the anomaly, and returns
// those it cannot move. It uses group testing, with groups that hold half of the time.
func (m *minimizer) reduce(cur point, dims []int, to func(d int) []int, chance []float64) (point, []int) {
	ends := map[int][]int{}
	var pool, needed []int
	for _, d := range dims {
		if end := to(d); end != nil && !slices.Equal(end, cur[d]) {
			ends[d] = end
			pool = append(pool, d)
		}
	}
	slices.SortStableFunc(pool, func(a, b int) int { return cmp.Compare(chance[a], chance[b]) })
	again := map[int]bool{}
	putBack := func(p point, group []int) (alone []int) { // values changed to avoid another anomaly are tried alone
		for _, d := range group {
			if !slices.Equal(p[d], ends[d]) && !again[d] {
				again[d], chance[d] = true, 1
				alone = append(alone, d)
			}
		}
		return alone
	}
	for len(pool) > 0 && !m.over {
		n := evenGroup(pool, chance)
		group := slices.Clone(pool[:n])
		pool = pool[n:]
		p, was := m.moved(cur, group, ends)
		if was == held {
			pool = append(pool, putBack(p, group)...)
			cur = p
			continue
		}
		for len(group) > 1 && !m.over { // one of them matters: find it
			half := len(group) / 2
			p, was := m.moved(cur, group[:half], ends)
			if was == held {
				pool = append(pool, putBack(p, group[:half])...)
				cur, group = p, group[half:]
				continue
			}
			pool = slices.Insert(pool, 0, group[half:]...)
			group = group[:half]
		}
		if m.over {
			pool = append(pool, group...)
			break
		}
		if d := group[0]; m.matters(&cur, d, ends[d]) {
			needed = append(needed, d)
		}
	}
	m.pool = pool
	return cur, needed
}

// evenGroup is the number of leading dimensions that all do not matter half of the time.
func evenGroup(pool []int, chance []float64) int {
	none := 1.
	for i, d := range pool {
		if none *= 1 - chance[d]; none < .5 {
			return max(1, i)
		}
	}
	return len(pool)
}

func (m *minimizer) moved(cur point, group []int, ends map[int][]int) (point, outcome) {
	trial := slices.Clone(cur)
	for _, d := range group {
		trial[d] = ends[d]
	}
	m.group = len(group) > 1
	p, was := m.holds(cur, trial)
	m.group = false
	return p, was
}

// matters reports whether a dimension alone loses the anomaly on the way to an end, as
// far as workloads are feasible; otherwise it moves the dimension.
func (m *minimizer) matters(cur *point, d int, end []int) bool {
	for _, at := range m.towards((*cur)[d], d, end) {
		p, was := m.holdsWith(*cur, d, at)
		switch {
		case m.over:
			return false
		case was == held:
			*cur = p
			return false
		case was == other:
			m.doubt[d] = end
			fallthrough
		case was == lost:
			m.lostAt[d] = at
			return true
		}
	}
	return false
}

// towards lists the values from an end back to the current one; for an unordered
// dimension, all others.
func (m *minimizer) towards(from []int, d int, end []int) (list [][]int) {
	dim := &m.space.dims[d]
	if !dim.hasOrder() {
		for i := range dim.Values {
			at := (end[0] + i) % len(dim.Values)
			if at != from[0] {
				list = append(list, []int{at})
			}
		}
		return list
	}
	list = append(list, end)
	if len(end) > 1 {
		return list
	}
	for i := end[0] + 1; i < slices.Min(from); i++ {
		list = append(list, []int{i})
	}
	for i := end[0] - 1; i > slices.Max(from); i-- {
		list = append(list, []int{i})
	}
	return list
}

// coarse makes conditions for what matters: the values that held and, in outer, those
// not known to lose the anomaly.
func (m *minimizer) coarse() {
	m.mfs = newMFS(m.space)
	for _, d := range m.needed {
		dim, at := &m.space.dims[d], m.cur[d]
		last := len(dim.Values) - 1
		c := condition{span: span{0, last}}
		switch {
		case dim.Pattern:
			c = m.coarsePattern(d)
		case !dim.Ordered:
			c.in = []int{at[0]}
		case m.lostAt[d][0] < at[0]:
			c.span.lo = min(at[0], m.base.point[d][0])
			c.outer = &condition{span: span{m.lostAt[d][0] + 1, last}}
		default:
			c.span.hi = max(at[0], m.base.point[d][0])
			c.outer = &condition{span: span{0, m.lostAt[d][0] - 1}}
		}
		m.restrict(d, c)
	}
}

// pin fixes dimensions still undecided at the end of the search to their measured values.
func (m *minimizer) pin() {
	for _, d := range m.pool {
		at := m.base.point[d]
		if m.space.dims[d].hasOrder() {
			m.restrict(d, condition{span: span{slices.Min(at), slices.Max(at)}})
		} else {
			m.restrict(d, condition{in: at})
		}
	}
}

// set sets a dimension's condition, unless that would exclude the anomaly itself.
func (m *minimizer) set(d int, c condition) {
	before := m.mfs.conds[d]
	if m.mfs.conds[d] = c; !m.mfs.meets(d, m.base.point[d]) {
		m.mfs.conds[d] = before
	}
}

// restrict narrows the MFS, unless that would exclude the anomaly itself.
func (m *minimizer) restrict(d int, c condition) {
	before := m.mfs.conds[d]
	if m.mfs.narrow(d, c); !m.mfs.meets(d, m.base.point[d]) {
		m.mfs.conds[d] = before
	}
}
