package search

import "slices"

// A probe tests whether the anomaly being minimised holds at another point.

// outcome of a probe.
type outcome int

const (
	unknown outcome = iota // the workload is infeasible, or belongs to another anomaly
	lost                   // it is healthy, or shows a milder anomaly
	held                   // it shows the anomaly
	other                  // it shows another anomaly
)

// sameThroughput is the relative difference in throughput up to which a probe shows the
// same anomaly.
const sameThroughput = .16

// samePause is the same for pauses, as a factor.
const samePause = 3

// holds reports whether a point shows the same anomaly as from. A point that belongs to
// another anomaly is first moved out of it; holds returns the point actually measured.
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
	if was == lost && m.flaky && !m.group && !m.over { // the members of a group are retried one by one
		was, e = m.probe(p)
	}
	if was == held && m.own == nil {
		e.of = m
	}
	if !m.over && (was != lost || !m.flaky || !m.group) {
		m.remember(p, was)
	}
	return p, was
}

// strangers is how many probes of one test may show other anomalies.
const strangers = 2

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
	if ok {
		e.origin = probe
	}
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
	case m.milder(e):
		return lost, e
	}
	return other, e
}

// same reports whether an experiment shows the anomaly.
func (m *minimizer) same(e *experiment) bool { return m.base.alike(e) }

// milder reports whether an experiment suffers less than the anomaly. Two anomalies at
// once are never milder than either, so the anomaly is absent.
func (m *minimizer) milder(e *experiment) bool {
	return e.throughput()*(1-sameThroughput) > m.base.throughput() ||
		m.base.symptom == Pause && e.pause()*samePause < m.base.pause()
}

// others returns the known MFS of another anomaly that a point may belong to or, if
// certain is set, that it does belong to.
func (m *minimizer) others(p point) *MFS {
	f := m.knownExcept(p, m.own)
	if f == nil || !m.certain {
		return f
	}
	for _, f := range m.known {
		if f.covers(p) {
			return f
		}
	}
	for _, a := range m.anomalies {
		if a != m.own && a.MFS != nil && a.MFS.covers(p) {
			return a.MFS
		}
	}
	return nil
}

// avoid changes a point until no known MFS contains it: one of the dimensions in which
// it differs from from, a point outside, gets the nearest value that breaks the MFS.
func (m *minimizer) avoid(from, p point) (point, bool) {
	for range 2 * len(p) {
		known := m.others(p)
		if known == nil {
			return p, true
		}
		broken := known.broken(from, m.certain)
		at := slices.IndexFunc(broken, func(d int) bool { return !slices.Equal(p[d], from[d]) })
		if at < 0 {
			return p, false
		}
		d := broken[at]
		p = p.with(d, m.outsideOf(known, d, from[d])...)
	}
	return p, false
}

// outsideOf returns the nearest value outside a condition, on the side of a coordinate
// that does not meet it.
func (m *minimizer) outsideOf(f *MFS, d int, from []int) []int {
	c := f.conds[d].bound(m.certain)
	if len(from) > 1 || !m.space.dims[d].Ordered || len(c.any) > 0 {
		return from
	}
	if from[0] < c.span.lo {
		return []int{c.span.lo - 1}
	}
	return []int{c.span.hi + 1}
}

// holdsWith reports whether the anomaly holds with another coordinate of one dimension.
// If the point is infeasible or belongs to another anomaly, irrelevant dimensions are
// varied. It returns the point actually measured.
func (m *minimizer) holdsWith(cur point, d int, at []int) (point, outcome) {
	p, was := m.holdsVaried(cur, d, at)
	if was != unknown || m.over {
		return p, was
	}
	m.certain = true
	p, was = m.holdsVaried(cur, d, at)
	m.certain = false
	if was == other { // it belonged to the anomaly that it was uncertain to belong to
		was = unknown
	}
	return p, was
}

func (m *minimizer) holdsVaried(cur point, d int, at []int) (point, outcome) {
	p := cur.with(d, at...)
	strange := 0
	for range attempts {
		if m.others(p) == nil {
			q, was := m.holds(cur, p)
			if was == other {
				if strange++; strange > strangers || m.own != nil && !m.takeUnexplained(m.worker) {
					return q, other
				}
			} else if was != unknown && slices.Equal(q[d], at) || m.over {
				return q, was
			}
		}
		p = m.vary(cur, d).with(d, at...)
	}
	if strange > 0 {
		return p, other
	}
	return p, unknown
}

// takeUnexplained minimises unexplained symptoms while that is worthwhile: probes that
// showed other anomalies, probes attributed to an anomaly whose MFS turned out not to
// cover them, and deferred proposals. It returns false when the search is over.
func (s *Search) takeUnexplained(w *worker) bool {
	for e := s.unexplained(); e != nil && s.worthwhile(e); e = s.unexplained() {
		if !s.takeApart(w, e) {
			return false
		}
	}
	return true
}

// unexplained returns the experiment with a symptom, not covered by a known MFS and not yet
// minimised, that is farthest from what is known; the first of equals. nil: none.
func (s *findings) unexplained() (farthest *experiment) {
	fewest := 0
	for _, e := range s.history {
		if e.symptom == Healthy || e.covered || e.apart || e.of != nil {
			continue
		}
		if n := s.neighbours(e); farthest == nil || n < fewest {
			farthest, fewest = e, n
		}
		if fewest == 0 {
			break
		}
	}
	return farthest
}

// vary returns a point that should show the anomaly like cur: irrelevant dimensions get
// the value of the first measurement or, once all conditions are known, any value.
func (m *minimizer) vary(cur point, d int) point {
	p := slices.Clone(cur)
	for k := range p {
		switch {
		case k == d || slices.Contains(m.needed, k):
		case m.own != nil && m.mfs.conds[k].free && m.rnd.IntN(2) == 0:
			p[k] = m.space.dims[k].Random(m.rnd)
		case m.rnd.IntN(2) == 0:
			p[k] = m.base.point[k]
		}
	}
	return p
}
