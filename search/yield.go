package search

import "math"

// Most probes of an anomaly that has no box of conditions, such as a product of two dimensions
// beyond a capacity, meet symptoms at its edge that its MFS does not cover. To take each apart
// takes as many experiments as a new anomaly would, and reports the same one again. Probes of
// others meet new anomalies. So symptoms that probes met are taken apart as long as that
// yields as much as proposals do.

// origin is what asked for an experiment.
type origin int

const (
	proposal origin = iota
	probe
	origins
)

// yield is what experiments of one origin gained of late.
type yield struct {
	anomalies   float64 // new ones: see newness
	experiments float64 // that took them apart, and the proposals
}

const (
	yieldMemory  = 400. // experiments after which what came of one counts half
	boxProbes    = 10.  // take an anomaly apart that is a box (F: 11), which symptoms are taken for at first
	boxAnomalies = 3.   // that are as good as found by so many when a search begins
	firstFind    = 30.  // experiments in which proposals find an anomaly at first, and take it apart
	findWeight   = .5   // of that, in anomalies
)

// firstYields is what is expected before a search begins.
func firstYields() [origins]yield {
	return [origins]yield{proposal: {findWeight, findWeight * firstFind}, probe: {boxAnomalies, boxAnomalies * boxProbes}}
}

func (y *yield) add(anomalies float64, experiments int) {
	keep := math.Pow(.5, float64(experiments)/yieldMemory)
	y.anomalies = y.anomalies*keep + anomalies
	y.experiments = y.experiments*keep + float64(experiments)
}

func (y *yield) rate() float64 { return y.anomalies / y.experiments }

// worthwhile reports whether an experiment that showed a symptom is to be taken apart now:
// it is far from all that is known, or symptoms that probes met yield as much as proposals.
// Of a flaky engine all are: its MFS lack conditions, and seem to be parts of each other.
func (s *Search) worthwhile(e *experiment) bool {
	return s.flaky || s.yields[probe].rate() >= s.yields[proposal].rate() || s.neighbours(e) == 0
}

// propose measures a proposal.
func (w *worker) propose(p point) (*experiment, bool) {
	before := w.measured
	e, ok := w.measure(p)
	w.search.yields[proposal].add(0, w.measured-before)
	return e, ok
}

// takeApart finds the coarse MFS of an experiment that showed a symptom. It is false when
// the search is over.
func (s *Search) takeApart(w *worker, e *experiment) bool {
	before := w.measured
	more := s.minimize(w, e)
	s.yields[e.origin].add(s.newness(e), w.measured-before)
	return more
}

// newness of the anomaly that an experiment was reported as: 1 when no other with its symptom
// has a condition on a dimension of its own, 0 when another has them on the same ones, as parts
// of one anomaly have. Different ones share some, so that what is shared counts squared.
func (s *Search) newness(e *experiment) float64 {
	var own *MFS
	for _, a := range s.anomalies {
		if a.base == e {
			own = a.MFS
		}
	}
	if own == nil { // joined with another, or known meanwhile
		return 0
	}
	most := 0.
	for _, a := range s.anomalies {
		if a.base != e && a.MFS != nil && a.Symptom == e.symptom {
			most = max(most, sharedDimensions(own, a.MFS))
		}
	}
	return 1 - most*most
}

// sharedDimensions is the Jaccard index of the dimensions that matter to two MFS.
func sharedDimensions(a, b *MFS) float64 {
	both, either := 0., 0.
	for d := range a.conds {
		if !a.conds[d].free || !b.conds[d].free {
			either++
			if !a.conds[d].free && !b.conds[d].free {
				both++
			}
		}
	}
	return both / max(1, either)
}

// neighbours counts the anomalies with the same symptom that a change of one dimension might
// take an experiment into.
func (s *Search) neighbours(e *experiment) (n int) {
	for _, a := range s.anomalies {
		if a.MFS != nil && a.Symptom == e.symptom && a.MFS.nearly(e.point) {
			n++
		}
	}
	return n
}

// nearly reports whether at most one dimension keeps a point from what may belong to an
// anomaly.
func (f *MFS) nearly(p point) bool {
	broken := 0
	for i := range f.conds {
		if !f.conds[i].free && !f.conds[i].bound(false).meets(&f.space.dims[i], p[i]) {
			if broken++; broken > 1 {
				return false
			}
		}
	}
	return true
}
