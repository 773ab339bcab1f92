package search

import (
	"encoding/json"
	"slices"
)

// Anomaly is an anomaly found by a search.
type Anomaly struct {
	Experiment int     // number of the experiment that first showed it
	Seconds    float64 // search time at the end of that experiment
	Symptom    Symptom
	Workload   Workload // of that experiment
	MFS        *MFS     // nil: withdrawn
	base       *experiment
	reported   *MFS       // the MFS last reported: MFS itself is narrowed in place during refinement
	open       *minimizer // refines it later; nil: already refined
	busy       bool       // being refined or audited
}

// Finding is an event of a search: an anomaly, or a new MFS of an earlier one.
type Finding struct {
	Anomaly Anomaly
	Revised int // experiment at which an earlier anomaly was revised; 0: it is new
}

// MarshalJSON writes the line of the report: an "anomaly", or "revised".
func (f Finding) MarshalJSON() ([]byte, error) {
	a := &f.Anomaly
	if f.Revised > 0 {
		return json.Marshal(struct {
			Type       string `json:"type"`
			Experiment int    `json:"experiment"`
			Of         int    `json:"of"`
			MFS        *MFS   `json:"mfs"`
		}{"revised", f.Revised, a.Experiment, a.MFS})
	}
	return json.Marshal(struct {
		Type       string   `json:"type"`
		Experiment int      `json:"experiment"`
		Seconds    float64  `json:"seconds"`
		Symptom    Symptom  `json:"symptom"`
		Workload   Workload `json:"workload"`
		MFS        *MFS     `json:"mfs"`
		Within     *MFS     `json:"within,omitempty"` // the part of the space that was searched
	}{"anomaly", a.Experiment, a.Seconds, a.Symptom, a.Workload, a.MFS, a.Workload.space.limits()})
}

// findings are the anomalies of a search. No point that a known MFS may cover is searched again.
type findings struct {
	*evidence
	known     []*MFS // from the start
	anomalies []*Anomaly
	news      []Finding // not yet returned by Observe
	revisions int       // number of changes to what is covered
}

func newFindings(e *evidence, known []*MFS) *findings { return &findings{evidence: e, known: known} }

// Anomalies returns the anomalies that have not been withdrawn.
func (s *findings) Anomalies() (standing []Anomaly) {
	for _, a := range s.anomalies {
		if a.MFS != nil {
			standing = append(standing, *a)
		}
	}
	return standing
}

// covered reports whether a point may belong to a known MFS.
func (s *findings) covered(p point) bool { return s.knownBy(p) != nil }

// knownBy returns the known MFS that a point may belong to, or nil.
func (s *findings) knownBy(p point) *MFS { return s.knownExcept(p, nil) }

func (s *findings) knownExcept(p point, own *Anomaly) *MFS {
	for _, f := range s.known {
		if f.covers(p) {
			return f
		}
	}
	for _, a := range s.anomalies {
		if a != own && a.MFS != nil && a.MFS.mayCover(p) {
			return a.MFS
		}
	}
	return nil
}

// sinceNew is the number of experiments since the last new anomaly.
func (s *findings) sinceNew() int {
	if len(s.anomalies) == 0 {
		return s.experiments
	}
	return s.experiments - s.anomalies[len(s.anomalies)-1].base.number
}

// report adds an anomaly, or revises one that the new MFS includes.
func (s *findings) report(m *minimizer) {
	e := m.base
	if e.symptom == Healthy { // judged again in the meantime
		return
	}
	m.mfs = holding(m.mfs, e.point, pointMFS(s.space, e.point))
	for _, a := range s.anomalies {
		if a.MFS != nil && a.Symptom == e.symptom && m.mfs.covers(a.base.point) && subset(a.MFS, m.mfs) {
			a.open = m
			s.revise(a, m.mfs)
			return
		}
	}
	a := &Anomaly{Experiment: e.number, Seconds: e.seconds, Symptom: e.symptom, Workload: s.space.workload(e.point), MFS: m.mfs, reported: m.mfs.clone(), base: e, open: m}
	s.anomalies = append(s.anomalies, a)
	s.news = append(s.news, Finding{Anomaly: *a})
	s.markCovered()
	s.join(a)
}

// join merges an anomaly with those that differ from it only in the values of one
// unordered dimension; the earliest one stays.
func (s *findings) join(a *Anomaly) {
	for _, b := range s.anomalies {
		if b == a || b.MFS == nil || a.MFS == nil || b.Symptom != a.Symptom || !a.base.alike(b.base) {
			continue
		}
		d := a.onlyDifference(b)
		if d < 0 {
			continue
		}
		first, second := a, b
		if b.Experiment < a.Experiment {
			first, second = b, a
		}
		f := first.MFS.clone()
		in := slices.Concat(f.conds[d].in, second.MFS.conds[d].in)
		slices.Sort(in)
		f.conds[d].in = slices.Compact(in)
		if len(f.conds[d].in) == len(s.space.dims[d].Values) {
			f.conds[d] = condition{free: true, span: f.conds[d].span}
		}
		s.revise(first, f)
		s.revise(second, nil)
	}
}

// absorb withdraws anomalies that another explains: it covers their workload, and no
// experiment outside it shows them.
func (s *findings) absorb(a *Anomaly) {
	for _, b := range s.anomalies {
		if b == a || b.busy || b.MFS == nil || a.MFS == nil || !a.MFS.covers(b.base.point) || !a.base.alike(b.base) {
			continue
		}
		own := func(e *experiment) bool {
			return e.symptom == b.Symptom && b.MFS.covers(e.point) && !a.MFS.covers(e.point)
		}
		if !slices.ContainsFunc(s.history, own) {
			s.revise(b, nil)
		}
	}
}

// withdrawNested withdraws anomalies whose MFS lies within that of another with the
// same symptom, since they add nothing. Before the end of the search, anomalies that
// are not yet refined or are being audited are left alone.
func (s *findings) withdrawNested(atEnd bool) {
	settled := func(a *Anomaly) bool { return a.MFS != nil && (atEnd || a.open == nil && !a.busy) }
	for _, outer := range s.anomalies {
		for _, inner := range s.anomalies {
			if inner != outer && settled(outer) && settled(inner) && inner.within(outer) {
				s.revise(inner, nil)
			}
		}
	}
}

// within reports whether an anomaly lies within another; of two equal MFS the later one does.
func (a *Anomaly) within(outer *Anomaly) bool {
	return a.Symptom == outer.Symptom && subset(a.MFS, outer.MFS) &&
		(outer.Experiment < a.Experiment || !subset(outer.MFS, a.MFS))
}

// onlyDifference returns the unordered dimension in which two anomalies differ, or -1
// if they differ in other or more dimensions, or not at all.
func (a *Anomaly) onlyDifference(b *Anomaly) int {
	if !slices.Equal(a.MFS.dimensions(), b.MFS.dimensions()) {
		return -1
	}
	broken, back := a.MFS.broken(b.base.point, false), b.MFS.broken(a.base.point, false)
	if len(broken) != 1 || !slices.Equal(broken, back) || a.MFS.space.dims[broken[0]].hasOrder() {
		return -1
	}
	return broken[0]
}

// literalReport adds an anomaly with an MFS that needs no refinement.
func (s *findings) literalReport(e *experiment, f *MFS) {
	s.report(&minimizer{base: e, mfs: f})
	for _, a := range s.anomalies {
		a.open = nil
	}
}

// reportPoint reports an experiment alone, without an MFS.
func (s *findings) reportPoint(e *experiment) {
	f := pointMFS(s.space, e.point)
	a := &Anomaly{Experiment: e.number, Seconds: e.seconds, Symptom: e.symptom, Workload: s.space.workload(e.point), MFS: f, base: e}
	s.anomalies = append(s.anomalies, a)
	s.news = append(s.news, Finding{Anomaly: *a})
}

// withdraw withdraws the anomaly that an experiment was thought to show.
func (s *findings) withdraw(e *experiment) {
	for _, a := range s.anomalies {
		if a.base == e && a.MFS != nil {
			s.revise(a, nil)
		}
	}
}

// revise gives an anomaly a new MFS, or withdraws it.
func (s *findings) revise(a *Anomaly, f *MFS) {
	if a.MFS = f; f != nil {
		a.MFS = holding(f, a.base.point, a.reported)
		a.reported = a.MFS.clone()
	}
	s.news = append(s.news, Finding{Anomaly: *a, Revised: s.experiments})
	s.markCovered()
}

// holding returns an MFS that covers a point: conditions that exclude it are replaced
// by those of another MFS that covers it.
func holding(f *MFS, p point, other *MFS) *MFS {
	for d := range p {
		if !f.meets(d, p[d]) {
			f = f.clone()
			f.conds[d] = other.conds[d]
		}
	}
	return f
}

func (s *findings) markCovered() {
	s.revisions++
	for _, e := range s.history {
		e.covered = s.covered(e.point)
	}
}

// subset reports whether every member of inner is a member of outer.
func subset(inner, outer *MFS) bool {
	for i := range outer.conds {
		o, in := &outer.conds[i], &inner.conds[i]
		if o.free {
			continue
		}
		if in.free {
			return false
		}
		if !inner.space.dims[i].hasOrder() {
			for _, v := range in.in {
				if !slices.Contains(o.in, v) {
					return false
				}
			}
			continue
		}
		if !in.span.within(o.span) {
			return false
		}
		for _, s := range o.any { // some message of each member lies in it
			if !in.span.within(s) && !slices.ContainsFunc(in.any, func(a span) bool { return a.within(s) }) {
				return false
			}
		}
	}
	return true
}
