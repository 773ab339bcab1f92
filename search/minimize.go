package search

import (
	"cmp"
	"math"
	"slices"
)

// The careful MFS comes in two parts. The coarse part is measured as soon as an anomaly
// is seen: adaptive group testing moves dimensions to the other end, what can be moved
// without losing the anomaly does not matter. What is left, the thresholds and the other
// values that trigger (refine.go), can wait: until then the search keeps away from all
// that may belong to the anomaly.

// sameThroughput is how far the throughput of a probe may be from the anomaly's,
// as a share, for it to be the same anomaly.
const sameThroughput = .22

// samePause is how many times more it may pause.
const samePause = 3

// outcome of a probe.
type outcome int

const (
	unknown outcome = iota // the workload cannot be had, or belongs to another anomaly
	lost                   // it is healthy
	held                   // it shows the anomaly
	other                  // it shows another
)

// minimizer takes one anomaly apart.
type minimizer struct {
	*Search
	worker *worker
	base   *experiment
	cur    point // shows the anomaly with what does not matter moved away
	needed []int // dimensions that matter, in the order in which that was seen
	lostAt map[int][]int
	mfs    *MFS
	own    *Anomaly // the one that is refined; nil: it is new
	seen   map[string]outcome
	tried  []map[int]bool // of each dimension, the values with which the anomaly was held
	pool   []int          // dimensions that reduce left undecided
	depth  int            // of minimizers that wait for this one
	over   bool           // the search is, or the anomaly belongs to one that another minimizer found
}

func (s *Search) newMinimizer(w *worker, e *experiment) *minimizer {
	m := &minimizer{Search: s, worker: w, base: e, cur: e.point, mfs: newMFS(s.space),
		lostAt: map[int][]int{}, seen: map[string]outcome{}, tried: make([]map[int]bool, len(s.space.dims))}
	for d := range m.tried {
		m.tried[d] = map[int]bool{}
	}
	m.remember(e.point, held)
	return m
}

// minimize finds the coarse MFS of an experiment that showed a symptom, and reports it.
// It is false when the search is over.
func (s *Search) minimize(w *worker, e *experiment) bool { return s.minimizeAt(w, e, 0) }

func (s *Search) minimizeAt(w *worker, e *experiment, depth int) bool {
	m := s.newMinimizer(w, e)
	m.depth = depth
	m.cur, m.needed = m.reduce(e.point, m.dimensions(), m.farther, m.chances())
	m.coarse()
	if m.over {
		m.pin()
	}
	if s.knownBy(e.point) == nil { // else another pair found it meanwhile
		s.report(m)
	}
	return !w.ended
}

func (m *minimizer) dimensions() []int {
	dims := make([]int, len(m.space.dims))
	for i := range dims {
		dims[i] = i
	}
	return dims
}

// conditions that an anomaly has before anything is known (Table 2: three or four).
const usualConditions = 3.5

// chances that each dimension matters: how many known anomalies it matters to, drawn
// to the mean of all dimensions.
func (m *minimizer) chances() []float64 {
	const weight = 2 // of the mean, in anomalies
	chance := make([]float64, len(m.space.dims))
	known, conditions := 0., usualConditions
	for _, a := range m.anomalies {
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

// farther is the end of a dimension away from the anomaly; nil: it has one value.
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

// untried is the value of a dimension without order that was not tried yet, if there is
// one, and seldom shows symptoms: probes shall not meet other anomalies.
func (m *minimizer) untried(d int) int {
	n := len(m.space.dims[d].Values)
	all, bad := make([]float64, n), make([]float64, n)
	for _, e := range m.history {
		i := e.point[d][0]
		all[i]++
		if e.symptom != Healthy {
			bad[i]++
		}
	}
	first := m.rnd.IntN(n)
	best, least := first, 2.
	for i := range n {
		v := (first + i) % n
		if share := (bad[v] + 1) / (all[v] + 2); !m.tried[d][v] && share < least {
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

// reduce moves as many dimensions as it can without losing the anomaly, and says
// which it cannot: group testing with groups that hold half of the time.
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
	for len(pool) > 0 && !m.over {
		n := evenGroup(pool, chance)
		group := slices.Clone(pool[:n])
		pool = pool[n:]
		p, was := m.moved(cur, group, ends)
		if was == held {
			for _, d := range group { // what was put back to avoid another anomaly is tried alone
				if slices.Equal(p[d], cur[d]) && !again[d] {
					again[d], chance[d] = true, 1
					pool = append(pool, d)
				}
			}
			cur = p
			continue
		}
		for len(group) > 1 && !m.over { // one of them matters: which?
			half := len(group) / 2
			p, was := m.moved(cur, group[:half], ends)
			if was == held {
				for _, d := range group[:half] {
					if slices.Equal(p[d], cur[d]) && !again[d] {
						again[d], chance[d] = true, 1
						pool = append(pool, d)
					}
				}
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

// evenGroup is how many of the first dimensions are none that matter half of the time.
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
	return m.holds(cur, trial)
}

// matters reports whether a dimension alone loses the anomaly on its way to an end, or
// as far as workloads can be had; else it is moved.
func (m *minimizer) matters(cur *point, d int, end []int) bool {
	for _, at := range m.towards((*cur)[d], d, end) {
		p, was := m.holdsWith(*cur, d, at)
		switch {
		case m.over:
			return false
		case was == held:
			*cur = p
			return false
		case was == lost:
			m.lostAt[d] = at
			return true
		}
	}
	return false
}

// holdsWith reports whether the anomaly holds with another coordinate of one dimension.
// Where that cannot be had, or belongs to another anomaly, what does not matter is
// varied. The point that was measured is returned.
func (m *minimizer) holdsWith(cur point, d int, at []int) (point, outcome) {
	p := cur.with(d, at...)
	for range attempts {
		if m.others(p) == nil {
			if q, was := m.holds(cur, p); was != unknown && slices.Equal(q[d], at) || m.over {
				return q, was
			}
		}
		p = m.vary(cur, d).with(d, at...)
	}
	return p, unknown
}

// vary is a point that should show the anomaly as another does: dimensions that do not
// matter have their value of the first measurement, or once all are known any value.
func (m *minimizer) vary(cur point, d int) point {
	p := slices.Clone(cur)
	for k := range p {
		switch {
		case k == d || slices.Contains(m.needed, k):
		case m.own != nil && m.mfs.conds[k].free && m.rnd.IntN(2) == 0:
			p[k] = m.space.dims[k].random(m.rnd)
		case m.rnd.IntN(2) == 0:
			p[k] = m.base.point[k]
		}
	}
	return p
}

// towards lists the values from an end back to where a dimension is: of one without
// order every other.
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

// coarse makes conditions of what matters: what was seen to hold, and in outer what
// was not seen to be lost.
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

// pin keeps what was left undecided at the end of the search as it was measured.
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

// restrict narrows the MFS, unless the anomaly itself would be no member any more.
func (m *minimizer) restrict(d int, c condition) {
	before := m.mfs.conds[d]
	if m.mfs.narrow(d, c); !m.mfs.meets(d, m.base.point[d]) {
		m.mfs.conds[d] = before
	}
}

// holds reports whether a point shows the same anomaly; from is one that does. A
// point that belongs to another anomaly is moved out of it first: the point that was
// measured is returned.
func (m *minimizer) holds(from, p point) (point, outcome) {
	asked := p
	p, ok := m.avoid(from, p)
	if !ok || p.key() == from.key() && asked.key() != from.key() {
		return p, unknown
	}
	if known, ok := m.seen[p.key()]; ok {
		return p, known
	}
	was, e := m.probe(p)
	if was == lost && m.flaky && !m.over {
		was, e = m.probe(p)
	}
	if was == other {
		return m.interrupted(from, asked, p, e)
	}
	if !m.over {
		m.remember(p, was)
	}
	return p, was
}

// deepest is how many minimizers may wait for one another.
const deepest = 3

// interrupted takes an unknown anomaly that a probe showed apart first, and then tries
// again: what belongs to it is avoided by then.
func (m *minimizer) interrupted(from, asked, p point, e *experiment) (point, outcome) {
	m.remember(p, lost)
	if m.depth >= deepest {
		return p, lost
	}
	m.minimizeAt(m.worker, e, m.depth+1)
	if m.worker.ended || m.own == nil && m.knownBy(m.base.point) != nil {
		m.over = true
		return p, unknown
	}
	return m.holds(from, asked)
}

func (m *minimizer) remember(p point, was outcome) {
	m.seen[p.key()] = was
	if was != held {
		return
	}
	for d, at := range p {
		m.tried[d][at[0]] = true
	}
}

func (m *minimizer) probe(p point) (outcome, *experiment) {
	if m.invalid[p.key()] {
		return unknown, nil
	}
	e, ok := m.worker.measure(p)
	switch {
	case !ok:
		m.over = true
		return unknown, nil
	case e.result.Status != OK:
		return unknown, nil
	case e.symptom == Healthy:
		return lost, e
	case m.same(e):
		return held, e
	}
	return other, e
}

// same reports whether an experiment shows the anomaly.
func (m *minimizer) same(e *experiment) bool { return m.alike(m.base, e) }

// alike reports whether two experiments show the same: the symptom, and about the
// throughput and pause.
func (s *Search) alike(a, b *experiment) bool {
	if a.symptom != b.symptom {
		return false
	}
	t, u := a.throughput(), b.throughput()
	p, q := a.pause(), b.pause()
	return math.Abs(t-u) <= sameThroughput*max(t, u) && max(p, q) <= samePause*min(p, q)
}

func (e *experiment) throughput() float64 { return -e.signals[len(e.signals)-1] }

func (e *experiment) pause() (most float64) {
	for _, p := range e.result.TxPausePercent {
		most = max(most, p)
	}
	return max(most, pauseLimitPercent)
}

// others is the known MFS, of another anomaly, that a point may belong to.
func (m *minimizer) others(p point) *MFS {
	return m.knownExcept(p, m.own)
}

// avoid changes a point until no known MFS has it: of the dimensions in which it
// differs from a point outside, one gets the nearest value that breaks the MFS.
func (m *minimizer) avoid(from, p point) (point, bool) {
	for range 2 * len(p) {
		known := m.others(p)
		if known == nil {
			return p, true
		}
		broken := known.broken(from)
		at := slices.IndexFunc(broken, func(d int) bool { return !slices.Equal(p[d], from[d]) })
		if at < 0 {
			return p, false
		}
		d := broken[at]
		p = p.with(d, m.outsideOf(known, d, from[d])...)
	}
	return p, false
}

// outsideOf is the value nearest to one that meets a condition and does not, on the
// way to another that does not.
func (m *minimizer) outsideOf(f *MFS, d int, from []int) []int {
	c := f.conds[d].outermost()
	if len(from) > 1 || !m.space.dims[d].Ordered || len(c.any) > 0 {
		return from
	}
	if from[0] < c.span.lo {
		return []int{c.span.lo - 1}
	}
	return []int{c.span.hi + 1}
}
