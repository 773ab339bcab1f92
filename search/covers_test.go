package search

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// After any revision an anomaly's MFS covers the workload that it was reported with.
func TestMFSCoversItsWorkload(t *testing.T) {
	var dims []Dimension
	if err := json.Unmarshal([]byte(`[{"name":"kind","values":["a","b","c"]},{"name":"qps","ordered":true,"values":[1,2,4,8,16]},
		{"name":"sizes","pattern":true,"max_length":3,"values":[64,200,1024,4096]}]`), &dims); err != nil {
		t.Fatal(err)
	}
	space, err := NewSpace(dims)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 2000 {
		s := newFindings(newEvidence(Description{}, space), nil)
		e := &experiment{number: 1, point: space.random(r), symptom: Pause}
		random := func() *MFS { return pointMFS(space, space.random(r)) }
		s.report(&minimizer{base: e, mfs: random()})
		a := s.anomalies[0]
		for range 3 {
			f := random()
			for d := range f.conds {
				f.conds[d].free = r.IntN(2) == 0
			}
			s.revise(a, f)
			if !a.MFS.covers(e.point) {
				t.Fatalf("case %d: %s does not cover %v", n, a.MFS, e.point)
			}
		}
	}
}
