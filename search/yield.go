package search

import "math"

// An anomaly that is not a box of conditions, such as a product of two dimensions
// beyond a capacity, makes most probes meet symptoms at its boundary that its MFS does
// not cover. Minimising each costs as much as a new anomaly, and reports the same one
// again. Probes of other anomalies do meet new ones. So symptoms met by probes are
// minimised only while that yields as much as proposals do.

// origin is what requested an experiment.
type origin int

const (
	proposal origin = iota
	probe
	origins
)

// yield is the recent gain from experiments of one origin.
type yield struct {
	anomalies   float64 // number of new ones, see newness
	experiments float64 // spent on minimising them, and on the proposals
}

const (
	yieldMemory  = 400. // half-life of past results, in experiments
	boxProbes    = 10.  // probes per anomaly that is a box (F: 11), the prior assumption
	boxAnomalies = 3.   // weight of that prior, in anomalies
	firstFind    = 30.  // prior experiments per anomaly from proposals, minimising included
	findWeight   = .5   // weight of that, in anomalies
)

// firstYields is the prior before a search begins.
func firstYields() [origins]yield {
	return [origins]yield{proposal: {findWeight, findWeight * firstFind}, probe: {boxAnomalies, boxAnomalies * boxProbes}}
}

func (y *yield) add(anomalies float64, experiments int) {
	keep := math.Pow(.5, float64(experiments)/yieldMemory)
	y.anomalies = y.anomalies*keep + anomalies
	y.experiments = y.experiments*keep + float64(experiments)
}

func (y *yield) rate() float64 { return y.anomalies / y.experiments }

// worthwhile reports whether to minimise an experiment with a symptom now: it is far from
// everything known, or symptoms met by probes yield as much as proposals. With a flaky
// engine it is always true: MFS lack conditions and seem to be parts of each other.
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

// takeApart finds the coarse MFS of an experiment with a symptom. It returns false when
// the search is over.
func (s *Search) takeApart(w *worker, e *experiment) bool {
	before := w.measured
	more := s.minimize(w, e)
	s.yields[e.origin].add(s.newness(e), w.measured-before)
	return more
}

// newness of the anomaly reported for an experiment: 1 if no other with its symptom shares
// a dimension, 0 if another has the same ones, as parts of one anomaly do. Different
// anomalies may share some, so the overlap counts squared.
func (s *findings) newness(e *experiment) float64 {
	var own *MFS
	for _, a := range s.anomalies {
		if a.base == e {
			own = a.MFS
		}
	}
	if own == nil { // joined with another, or known in the meantime
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

// neighbours counts the anomalies with the same symptom that a change of one dimension
// might move an experiment into.
func (s *findings) neighbours(e *experiment) (n int) {
	for _, a := range s.anomalies {
		if a.MFS != nil && a.Symptom == e.symptom && a.MFS.nearly(e.point) {
			n++
		}
	}
	return n
}

// nearly reports whether at most one dimension excludes a point from what may belong to
// an anomaly.
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
