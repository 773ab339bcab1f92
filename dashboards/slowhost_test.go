//go:build engine || integration

package dashboards

import (
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// However many diagnoses accuse a host, the store is asked about it once. Each diagnosis has the run that its
// region asked for or else the nearest one that is not too far in time.
func TestAHostOfManyDiagnosesIsLookedUpOnce(t *testing.T) {
	h := open(t, mesh)
	if err := h.db.StoreHostRuns(t.Context(), mesh, aProbedHost()); err != nil {
		t.Fatal(err)
	}
	asked := 0
	h.model = read.New(h.db).Noting(func(read.Statement) { asked++ })
	const near = 100
	list := make([]schema.Diagnosis, near+1)
	for i := range list {
		list[i] = schema.Diagnosis{Fabric: mesh, Time: schema.Instant(noon + int64(i)*second), Region: uint64(i), Cause: schema.Cause{Class: schema.CauseSlowHost}, Root: &schema.Root{Device: "0,0", Peer: "n1"}}
	}
	list[near].Time += schema.Instant(3 * 3600 * second)
	found, err := h.slowHosts.join(t.Context(), mesh, list)
	if err != nil || asked > 3 {
		t.Errorf("%d statements, %v", asked, err)
	}
	for i := range found {
		if p := found[i].ProbedHost; (p != nil) != (i < near) || p != nil && p.RunID != "h1" {
			t.Errorf("diagnosis %d: %+v", i, p)
		}
	}
}

func TestJobsOfADiagnosis(t *testing.T) {
	d := &schema.Diagnosis{Time: 100, Jobs: []schema.AccusedJob{{JobID: "accused"}}}
	jobs := []schema.Job{{ID: "accused", Nodes: []string{"n2"}, Start: 100}, {ID: "accused", Start: 101}, {ID: "elsewhere", Nodes: []string{"n2"}, Start: 1},
		{ID: "here", Nodes: []string{"n1"}, Start: 1, End: 101}, {ID: "gone", Nodes: []string{"n1"}, Start: 1, End: 100}}
	var got []string
	for _, j := range jobsOf(jobs, d, "n1") {
		got = append(got, j.ID)
	}
	if len(got) != 2 || got[0] != "accused" || got[1] != "here" {
		t.Errorf("jobs %v", got)
	}
}
