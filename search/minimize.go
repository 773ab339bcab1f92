package search

import (
	"math"
	"slices"
)

// The careful MFS: dimensions are moved to the other end in groups, what can be
// moved without losing the anomaly does not matter; of what matters the thresholds
// are bisected; random members are checked.

// sameThroughput is how far the throughput of a probe may be from the anomaly's,
// as a share, for it to be the same anomaly.
const sameThroughput = .22

// members that a new MFS is checked with, and how often it is narrowed.
const (
	checkedMembers = 1
	narrowings     = 4
)

// outcome of a probe.
type outcome int

const (
	unknown outcome = iota // the workload cannot be had, or belongs to another anomaly
	lost                   // it does not show the anomaly
	held                   // it does
)

// minimizer takes one anomaly apart.
type minimizer struct {
	*Search
	worker  *worker
	base    *experiment
	leading int
	mfs     *MFS
	needs   map[int]bool // dimensions that matter, whether or not they have a condition yet
	seen    map[string]outcome
	over    bool // the search is
}

// minimize finds the MFS of an experiment that showed a symptom, and reports it. It
// is false when the search is over.
func (s *Search) minimize(w *worker, e *experiment) bool {
	m := &minimizer{Search: s, worker: w, base: e, leading: s.leading(e), mfs: newMFS(s.space), seen: map[string]outcome{e.point.key(): held}}
	m.find()
	if m.over {
		return false
	}
	if k := s.knownBy(e.point); k != nil { // another pair found it meanwhile
		return true
	}
	s.report(e, m.mfs)
	return true
}

// find fills the MFS.
func (m *minimizer) find() {
	all := m.seldomFirst()
	cur, needed := m.reduce(m.base.point, all, m.farther, false)
	// What could be moved one way may still matter the other way.
	rest := slices.DeleteFunc(all, func(d int) bool { return slices.Contains(needed, d) || m.nearer(d) == nil })
	cur, oneWay := m.reduce(cur, rest, m.nearer, false)
	m.needs = map[int]bool{}
	for _, d := range slices.Concat(needed, oneWay) {
		m.needs[d] = true
	}
	for _, d := range needed {
		m.bound(cur, d, m.farther(d))
	}
	for _, d := range oneWay {
		m.bound(cur, d, m.nearer(d))
	}
	m.otherSides(cur, needed)
	m.check()
}

// seldomFirst orders the dimensions by how many known anomalies they matter to:
// groups of those that matter to none are moved by one probe.
func (m *minimizer) seldomFirst() []int {
	order, matters := make([]int, len(m.space.dims)), make([]int, len(m.space.dims))
	for i := range order {
		order[i] = i
	}
	for _, a := range m.Anomalies() {
		for _, d := range a.MFS.dimensions() {
			matters[d]++
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return matters[a] - matters[b] })
	return order
}

// farther is the end of a dimension away from the anomaly; nil: it has one value.
func (m *minimizer) farther(d int) []int {
	dim, at := &m.space.dims[d], m.base.point[d]
	last := len(dim.Values) - 1
	switch {
	case last == 0:
		return nil
	case !dim.hasOrder():
		return []int{(at[0] + 1 + m.rnd.IntN(last)) % (last + 1)}
	case 2*middle(at) >= float64(last):
		return []int{0}
	}
	return []int{last}
}

func middle(at []int) float64 {
	sum := 0
	for _, i := range at {
		sum += i
	}
	return float64(sum) / float64(len(at))
}

// nearer is the other end; nil where the anomaly is there already, or there is none.
func (m *minimizer) nearer(d int) []int {
	dim, at := &m.space.dims[d], m.base.point[d]
	last := len(dim.Values) - 1
	if last == 0 || !dim.hasOrder() {
		return nil
	}
	end := 0
	if 2*middle(at) >= float64(last) {
		end = last
	}
	if len(at) == 1 && at[0] == end {
		return nil
	}
	return []int{end}
}

// reduce moves as many dimensions as it can without losing the anomaly, and says
// which it cannot. known: it is known that not all can be moved.
func (m *minimizer) reduce(cur point, dims []int, to func(d int) []int, known bool) (point, []int) {
	dims = slices.DeleteFunc(slices.Clone(dims), func(d int) bool { return to(d) == nil || slices.Equal(to(d), cur[d]) })
	if len(dims) == 0 || m.over {
		return cur, nil
	}
	if len(dims) == 1 {
		return m.reduceOne(cur, dims[0], to(dims[0]))
	}
	sure := known
	if !known {
		trial := slices.Clone(cur)
		for _, d := range dims {
			trial[d] = to(d)
		}
		p, was := m.holds(cur, trial)
		if was == held {
			return p, nil
		}
		sure = was == lost
	}
	half := len(dims) / 2
	cur, left := m.reduce(cur, dims[:half], to, false)
	cur, right := m.reduce(cur, dims[half:], to, sure && len(left) == 0)
	return cur, append(left, right...)
}

// reduceOne moves one dimension to an end, or as far as workloads can be had.
func (m *minimizer) reduceOne(cur point, d int, end []int) (point, []int) {
	p, was := m.farthest(cur, d, end)
	switch was {
	case held:
		return p, nil
	case lost:
		return cur, []int{d}
	}
	return cur, nil
}

// farthest is what comes of the value nearest to an end that can be had.
func (m *minimizer) farthest(cur point, d int, end []int) (point, outcome) {
	for _, at := range m.towards(cur[d], d, end) {
		if p, was := m.holds(cur, cur.with(d, at...)); was != unknown || m.over {
			return p, was
		}
	}
	return cur, unknown
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
	stop := from[0]
	if end[0] == 0 {
		stop = slices.Min(from)
	} else if end[0] == len(dim.Values)-1 {
		stop = slices.Max(from)
	}
	step := 1
	if end[0] > stop {
		step = -1
	}
	for i := end[0]; i != stop; i += step {
		list = append(list, []int{i})
	}
	return list
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
	was := m.probe(p)
	if was == lost && m.flaky && !m.over {
		was = m.probe(p)
	}
	if !m.over {
		m.seen[p.key()] = was
	}
	return p, was
}

func (m *minimizer) probe(p point) outcome {
	if m.invalid[p.key()] {
		return unknown
	}
	e, ok := m.worker.measure(p)
	if !ok {
		m.over = true
		return unknown
	}
	switch {
	case e.result.Status != OK:
		return unknown
	case m.same(e):
		return held
	}
	return lost
}

// same reports whether an experiment shows the anomaly: its symptom, and its
// throughput or its leading counter.
func (m *minimizer) same(e *experiment) bool {
	if e.symptom != m.base.symptom {
		return false
	}
	a, b := m.throughputOf(m.base), m.throughputOf(e)
	return math.Abs(a-b) <= sameThroughput*max(a, b) || m.leading >= 0 && m.leading == m.Search.leading(e)
}

func (m *minimizer) throughputOf(e *experiment) float64 { return -e.signals[len(e.signals)-1] }

// avoid changes a point until no known MFS has it: of the dimensions in which it
// differs from a point outside, one gets the nearest value that breaks the MFS.
func (m *minimizer) avoid(from, p point) (point, bool) {
	for range 2 * len(p) {
		known := m.knownBy(p)
		if known == nil {
			return p, true
		}
		at := slices.IndexFunc(known.broken(from), func(d int) bool { return !slices.Equal(p[d], from[d]) })
		if at < 0 {
			return p, false
		}
		d := known.broken(from)[at]
		p = p.with(d, m.outsideOf(known, d, from[d], p[d])...)
	}
	return p, false
}

// outsideOf is the value nearest to one that meets a condition and does not, on the
// way to another that does not.
func (m *minimizer) outsideOf(f *MFS, d int, from, at []int) []int {
	c := &f.conds[d]
	if len(from) > 1 || len(at) > 1 || !m.space.dims[d].hasOrder() || len(c.any) > 0 {
		return from
	}
	if from[0] < c.span.lo {
		return []int{c.span.lo - 1}
	}
	return []int{c.span.hi + 1}
}

// bound finds the condition of a dimension that matters: it loses the anomaly on the
// way to end.
func (m *minimizer) bound(cur point, d int, end []int) {
	dim := &m.space.dims[d]
	switch {
	case m.over:
	case dim.Pattern:
		m.pattern(cur, d)
	case dim.Ordered:
		i, was := m.edge(cur, d, end[0])
		if was != lost {
			return
		}
		at := m.bisect(cur[d][0], i, func(i int) point { return cur.with(d, i) }, cur)
		if i > cur[d][0] {
			m.narrow(d, span{0, at})
		} else {
			m.narrow(d, span{at, len(dim.Values) - 1})
		}
	default:
		m.alternatives(cur, d)
	}
}

// edge is the index nearest to an end that can be had, and what comes of it.
func (m *minimizer) edge(cur point, d, end int) (int, outcome) {
	for _, at := range m.towards(cur[d], d, []int{end}) {
		if _, was := m.holds(cur, cur.with(d, at...)); was != unknown || m.over {
			return at[0], was
		}
	}
	return end, unknown
}

// alternatives finds which other values of a dimension without order trigger too.
func (m *minimizer) alternatives(cur point, d int) {
	in := []int{cur[d][0]}
	any := false
	for i := range m.space.dims[d].Values {
		if i == cur[d][0] {
			continue
		}
		switch m.alternative(cur, d, i) {
		case held:
			in = append(in, i)
		case lost:
			any = true
		}
	}
	if any {
		slices.Sort(in)
		m.restrict(d, condition{in: in})
	}
}

// attempts to find a workload that can be had.
const attempts = 20

func (m *minimizer) alternative(cur point, d, i int) outcome {
	if p, was := m.holds(cur, cur.with(d, i)); was != unknown && p[d][0] == i || m.over {
		return was
	}
	for range attempts {
		p := m.mfs.random(m.rnd)
		for k := range p {
			if k != d && m.needs[k] {
				p[k] = cur[k]
			}
		}
		if m.knownBy(p.with(d, i)) != nil {
			continue
		}
		if _, was := m.holds(cur, p.with(d, i)); was != unknown || m.over {
			return was
		}
	}
	return unknown
}

func (m *minimizer) narrow(d int, s span) { m.restrict(d, condition{span: s}) }

// restrict narrows the MFS, unless the anomaly itself would be no member any more.
func (m *minimizer) restrict(d int, c condition) {
	before := m.mfs.conds[d]
	if m.mfs.narrow(d, c); !m.mfs.meets(d, m.base.point[d]) {
		m.mfs.conds[d] = before
	}
}

// bisect is the last index from in towards out at which the anomaly holds.
func (m *minimizer) bisect(in, out int, at func(i int) point, cur point) int {
	for (in-out > 1 || out-in > 1) && !m.over {
		mid := (in + out) / 2
		p := at(mid)
		was := unknown // of another anomaly: believe the end that is out
		if m.knownBy(p) == nil {
			_, was = m.holds(cur, p)
		}
		if was == held {
			in = mid
		} else {
			out = mid
		}
	}
	return in
}

// otherSides finds the bounds away from the ends that lose the anomaly.
func (m *minimizer) otherSides(cur point, needed []int) {
	ordered := slices.DeleteFunc(slices.Clone(needed), func(d int) bool { return !m.space.dims[d].Ordered || m.nearer(d) == nil })
	_, both := m.reduce(cur, ordered, m.nearer, false)
	for _, d := range both {
		m.bound(cur, d, m.nearer(d))
	}
}

// pattern finds the condition of a message pattern that matters.
func (m *minimizer) pattern(cur point, d int) {
	last := len(m.space.dims[d].Values) - 1
	uniform := func(i int) point { return cur.with(d, i) }
	lo, hi := slices.Min(cur[d]), slices.Max(cur[d])
	for _, u := range slices.Compact([]int{hi, lo}) {
		if _, was := m.holds(cur, uniform(u)); was != held {
			continue
		}
		s := span{0, last}
		from := uniform(u)
		if i, was := m.edge(from, d, 0); was == lost {
			s.lo = m.bisect(u, i, uniform, cur)
		}
		if i, was := m.edge(from, d, last); was == lost {
			s.hi = m.bisect(u, i, uniform, cur)
		}
		m.patternOf(cur, d, u, s)
		return
	}
	m.mix(cur, d, lo, hi)
}

// patternOf decides between every message and at least one.
func (m *minimizer) patternOf(cur point, d, u int, s span) {
	dim := &m.space.dims[d]
	last := len(dim.Values) - 1
	if s == (span{0, last}) { // no size matters alone: the mix does
		m.mix(cur, d, slices.Min(cur[d]), slices.Max(cur[d]))
		return
	}
	other := s.lo - 1
	if s.lo == 0 {
		other = s.hi + 1
	}
	if dim.MaxLength > 1 {
		if _, was := m.holds(cur, cur.with(d, u, other)); was == held {
			m.restrict(d, condition{span: span{0, last}, any: []span{s}})
			return
		}
	}
	m.narrow(d, s)
}

// mix finds the ranges of which each must have a message.
func (m *minimizer) mix(cur point, d, lo, hi int) {
	last := len(m.space.dims[d].Values) - 1
	if lo == hi {
		return
	}
	pair := func(a, b int) point { return cur.with(d, a, b) }
	if _, was := m.holds(cur, pair(lo, hi)); was != held {
		m.elements(cur, d)
		return
	}
	small := m.bisect(lo, hi, func(i int) point { return pair(i, hi) }, cur)
	large := m.bisect(hi, lo, func(i int) point { return pair(lo, i) }, cur)
	m.restrict(d, condition{span: span{0, last}, any: []span{{0, small}, {large, last}}})
}

// elements keeps the messages of a pattern that are all needed: each must be there.
func (m *minimizer) elements(cur point, d int) {
	at := slices.Clone(cur[d])
	for k := 0; k < len(at) && len(at) > 2; {
		less := slices.Delete(slices.Clone(at), k, k+1)
		if _, was := m.holds(cur, cur.with(d, less...)); was == held {
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
	m.restrict(d, c)
}

// check measures random members, and narrows the MFS where one does not show the
// anomaly.
func (m *minimizer) check() {
	for range narrowings {
		for range checkedMembers {
			p, was := m.member()
			if m.over || was == unknown {
				return
			}
			if was == lost {
				m.exclude(p)
				break
			}
			return
		}
	}
}

// member measures a random one that belongs to no other anomaly; unknown: none was
// found.
func (m *minimizer) member() (point, outcome) {
	tries := attempts
	for range drawsBefore {
		p := m.mfs.random(m.rnd)
		if m.knownBy(p) != nil || m.invalid[p.key()] {
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
	cur, guilty := m.reduce(m.base.point, differ, func(d int) []int { return p[d] }, true)
	for _, d := range guilty {
		if m.over {
			return
		}
		m.bound(cur, d, p[d])
	}
}

// audit measures a member of an MFS that stands, and revises the MFS if it is
// healthy.
func (s *Search) audit(w *worker) bool {
	var standing []*Anomaly
	for _, a := range s.anomalies {
		if a.MFS != nil {
			standing = append(standing, a)
		}
	}
	if len(standing) == 0 {
		return true
	}
	a := standing[s.rnd.IntN(len(standing))]
	m := &minimizer{Search: s, worker: w, base: a.base, leading: s.leading(a.base), mfs: a.MFS.clone(),
		seen: map[string]outcome{a.base.point.key(): held}, needs: map[int]bool{}}
	before := a.MFS
	a.MFS = nil // its own members are no other's
	p, was := m.member()
	if was == lost {
		m.exclude(p)
	}
	if a.MFS = before; m.over {
		return false
	}
	if was == lost {
		s.revise(a, m.mfs)
	}
	return true
}
