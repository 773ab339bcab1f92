package search

import "slices"

// Match is a known anomaly triggered by a workload.
type Match struct {
	Type    string      `json:"type"` // "match"
	MFS     *MFS        `json:"mfs"`
	Changes []Avoidance `json:"changes"`
}

// Avoidance is a single change with which the workload leaves the MFS.
type Avoidance struct {
	Change
	Meets []*MFS `json:"meets"` // other known MFS that the changed workload meets
}

// Matches lists the known anomalies that the workload triggers, each with the single changes that avoid it.
func (w Workload) Matches(known []*MFS) []Match {
	list := []Match{}
	for _, mfs := range known {
		if !mfs.Covers(w) {
			continue
		}
		m := Match{Type: "match", MFS: mfs, Changes: []Avoidance{}}
		for _, c := range mfs.Changes(w) {
			changed, change := w.after(c), Avoidance{Change: c, Meets: []*MFS{}}
			for _, other := range known {
				if other.Covers(changed) {
					change.Meets = append(change.Meets, other)
				}
			}
			m.Changes = append(m.Changes, change)
		}
		list = append(list, m)
	}
	return list
}

// after returns the workload after a change.
func (w Workload) after(c Change) Workload {
	i := slices.IndexFunc(w.space.dims, func(d Dimension) bool { return d.Name == c.Dimension })
	p := slices.Clone(w.point)
	p[i] = make([]int, len(c.To))
	for k, v := range c.To {
		p[i][k] = w.space.dims[i].find(v)
	}
	return Workload{w.space, p}
}
