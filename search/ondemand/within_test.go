package ondemand

import (
	"testing"

	"github.com/giverny/giverny/search"
)

// TestFindingOfRestriction: the knowledge base does not know the restriction, so it is
// part of the conditions.
func TestFindingOfRestriction(t *testing.T) {
	space, err := search.NewSpace([]search.Dimension{
		{Name: "direction", Values: []search.Value{search.Text("uni"), search.Text("bi")}},
		{Name: "qps", Ordered: true, Values: []search.Value{search.Number(1), search.Number(16), search.Number(64), search.Number(256)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	most := search.Number(64)
	left, err := space.Restrict(search.Restriction{"direction": {In: []search.Value{search.Text("bi")}}, "qps": {Max: &most}})
	if err != nil {
		t.Fatal(err)
	}
	f := search.Finding{Anomaly: search.Anomaly{Experiment: 1}}
	if f.Anomaly.Workload, err = left.ParseWorkload([]byte(`{"direction":"bi","qps":64}`)); err != nil {
		t.Fatal(err)
	}
	if f.Anomaly.MFS, err = left.ParseMFS([]byte(`{"qps":{"min":16}}`)); err != nil {
		t.Fatal(err)
	}
	out, err := findingOf(&f)
	if want := `{"direction":{"in":["bi"]},"qps":{"min":16,"max":64}}`; err != nil || string(out.MFS) != want {
		t.Errorf("%s, %v: want %s", out.MFS, err, want)
	}
}
