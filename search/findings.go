package search

import (
	"encoding/json"
	"slices"
)

// Anomaly is what a search found.
type Anomaly struct {
	Experiment int     // that first showed it
	Seconds    float64 // of the search, at the end of that experiment
	Symptom    Symptom
	Workload   Workload // of that experiment
	MFS        *MFS     // nil: withdrawn
	base       *experiment
}

// Finding is news of a search: an anomaly, or a new MFS of an earlier one.
type Finding struct {
	Anomaly Anomaly
	Revised int // the experiment at which an earlier anomaly was revised; 0: it is new
}

// MarshalJSON is the line of the report: an "anomaly", or what was "revised".
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
	}{"anomaly", a.Experiment, a.Seconds, a.Symptom, a.Workload, a.MFS})
}

// Anomalies that stand.
func (s *Search) Anomalies() (standing []Anomaly) {
	for _, a := range s.anomalies {
		if a.MFS != nil {
			standing = append(standing, *a)
		}
	}
	return standing
}

// covered reports whether a point belongs to what is known.
func (s *Search) covered(p point) bool { return s.knownBy(p) != nil }

// knownBy is the known MFS that a point meets, or nil.
func (s *Search) knownBy(p point) *MFS {
	for _, f := range s.cfg.Known {
		if f.covers(p) {
			return f
		}
	}
	for _, a := range s.anomalies {
		if a.MFS != nil && a.MFS.covers(p) {
			return a.MFS
		}
	}
	return nil
}

// report adds an anomaly, or revises those that it takes in.
func (s *Search) report(e *experiment, f *MFS) {
	for _, a := range s.anomalies {
		if a.MFS != nil && a.Symptom == e.symptom && f.covers(a.Workload.point) && subset(a.MFS, f) {
			s.revise(a, f)
			return
		}
	}
	a := &Anomaly{Experiment: e.number, Seconds: e.seconds, Symptom: e.symptom, Workload: s.space.workload(e.point), MFS: f, base: e}
	s.anomalies = append(s.anomalies, a)
	s.findings = append(s.findings, Finding{Anomaly: *a})
	for _, other := range slices.Clone(s.anomalies) {
		if other != a && other.MFS != nil {
			s.disown(other, f)
		}
	}
	s.markCovered()
}

// disown takes from an anomaly what belongs to a newer one: values of dimensions
// without order whose only evidence the newer one covers. If the newer one covers
// the workload itself, the anomaly is withdrawn, and reported anew by other
// evidence if there is any.
func (s *Search) disown(a *Anomaly, newer *MFS) {
	evidence := func(e *experiment) bool {
		return e.symptom == a.Symptom && a.MFS.covers(e.point) && !newer.covers(e.point)
	}
	base := a.base
	if newer.covers(base.point) {
		i := slices.IndexFunc(s.history, evidence)
		if i < 0 {
			return
		}
		base = s.history[i]
	}
	narrower := a.MFS.clone()
	changed := base != a.base
	for d := range narrower.conds {
		c := &narrower.conds[d]
		if c.free || s.space.dims[d].hasOrder() {
			continue
		}
		c.in = slices.DeleteFunc(slices.Clone(c.in), func(i int) bool {
			return i != base.point[d][0] && !slices.ContainsFunc(s.history, func(e *experiment) bool { return e.point[d][0] == i && evidence(e) })
		})
		changed = changed || len(c.in) < len(a.MFS.conds[d].in)
	}
	if !changed {
		return
	}
	if base == a.base {
		s.revise(a, narrower)
		return
	}
	s.revise(a, nil)
	again := &Anomaly{Experiment: base.number, Seconds: base.seconds, Symptom: base.symptom, Workload: s.space.workload(base.point), MFS: narrower, base: base}
	s.anomalies = append(s.anomalies, again)
	s.findings = append(s.findings, Finding{Anomaly: *again})
}

// revise gives an anomaly another MFS, or withdraws it.
func (s *Search) revise(a *Anomaly, f *MFS) {
	a.MFS = f
	s.findings = append(s.findings, Finding{Anomaly: *a, Revised: s.experiments})
	s.markCovered()
}

func (s *Search) markCovered() {
	for _, e := range s.history {
		e.covered = s.covered(e.point)
	}
}

// subset reports whether every member of inner is one of outer.
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
				if !contains(o.in, v) {
					return false
				}
			}
			continue
		}
		if in.span.lo < o.span.lo || in.span.hi > o.span.hi || len(o.any) > len(in.any) {
			return false
		}
		for k, s := range o.any {
			if in.any[k].lo < s.lo || in.any[k].hi > s.hi {
				return false
			}
		}
	}
	return true
}

func contains(list []int, v int) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}
