package search

import (
	"math"
	"slices"
)

// A probe asks whether the anomaly that is taken apart holds at another point.

// outcome of a probe.
type outcome int

const (
	unknown outcome = iota // the workload cannot be had, or belongs to another anomaly
	lost                   // it is healthy, or shows another that is milder
	held                   // it shows the anomaly
	other                  // it shows another
)

// sameThroughput is how far the throughput of a probe may be from the anomaly's,
// as a share, for it to be the same anomaly.
const sameThroughput = .16

// samePause is how many times more it may pause.
const samePause = 3

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
	if was == lost && m.flaky && !m.group && !m.over { // of a group each is tried again
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

// strangers is how many probes of one question may show other anomalies.
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
func (m *minimizer) same(e *experiment) bool { return m.alike(m.base, e) }

// milder reports whether an experiment suffers less than the anomaly does. Two anomalies at
// once are no milder than either of them, so the anomaly is not there.
func (m *minimizer) milder(e *experiment) bool {
	return e.throughput()*(1-sameThroughput) > m.base.throughput() ||
		m.base.symptom == Pause && e.pause()*samePause < m.base.pause()
}

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

// others is the known MFS, of another anomaly, that a point may belong to, or if that
// leaves nothing to probe, that it belongs to.
func (m *minimizer) others(p point) *MFS {
	f := m.knownExcept(p, m.own)
	if f == nil || !m.certain {
		return f
	}
	for _, f := range m.cfg.Known {
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

// avoid changes a point until no known MFS has it: of the dimensions in which it
// differs from a point outside, one gets the nearest value that breaks the MFS.
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

// outsideOf is the value nearest to one that meets a condition and does not, on the
// way to another that does not.
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
// Where that cannot be had, or belongs to another anomaly, what does not matter is
// varied. The point that was measured is returned.
func (m *minimizer) holdsWith(cur point, d int, at []int) (point, outcome) {
	p, was := m.holdsVaried(cur, d, at)
	if was != unknown || m.over {
		return p, was
	}
	m.certain = true
	p, was = m.holdsVaried(cur, d, at)
	m.certain = false
	if was == other { // it belonged to the one that it was not certain to belong to
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

// takeUnexplained takes apart what showed a symptom and belongs to no known anomaly, while
// that is worthwhile: probes that showed others, those that were taken for an anomaly whose
// MFS turned out not to cover them, and proposals that had to wait. It is false when the
// search is over.
func (s *Search) takeUnexplained(w *worker) bool {
	for e := s.unexplained(); e != nil && s.worthwhile(e); e = s.unexplained() {
		if !s.takeApart(w, e) {
			return false
		}
	}
	return true
}

// unexplained is the experiment farthest from what is known, and the first of those, that
// showed a symptom, that no known MFS covers, and that was not taken apart; nil: there is none.
func (s *Search) unexplained() (farthest *experiment) {
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
