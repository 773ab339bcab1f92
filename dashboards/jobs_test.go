//go:build engine || integration

package dashboards

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine/enginetest"
	"github.com/giverny/giverny/topology"
)

// A running job is listed whenever it began: before the default span, or so long before it was first reported that no
// job is believed to run for that time. One that ended before the span is not listed.
func TestRunningJobsAreListedWheneverTheyBegan(t *testing.T) {
	h := open(t, mesh)
	g := h.graph(mesh)
	days := func(n int) schema.Instant { return schema.Instant(noon - int64(n)*24*3600*second) }
	old := busy(g, int64(days(3)))
	old.Jobs = []schema.Job{{Fabric: mesh, ID: "three days", Nodes: []string{"0,0"}, Start: days(3), State: "RUNNING"},
		{Fabric: mesh, ID: "ended", Nodes: []string{"1,0"}, Start: days(3), End: days(2), State: "COMPLETED"}}
	now := busy(g, noon)
	now.Jobs = []schema.Job{{Fabric: mesh, ID: "seventy days", Nodes: []string{"2,0"}, Start: days(70), State: "RUNNING"}}
	h.store(g, old)
	h.store(g, now)
	var ids []string
	for _, j := range decode[jobPage](t, h.get("fabrics/"+mesh+"/jobs", http.StatusOK)).Jobs {
		ids = append(ids, j.ID)
	}
	if got := strings.Join(ids, ", "); got != "seventy days, three days" {
		t.Errorf("the default span lists %q", got)
	}
}

// A flood of jobs that start later does not hide the job that congests the fabric from who asks for the accused.
func TestAccusedJobsAreFoundInAFlood(t *testing.T) {
	h := open(t, mesh)
	g := h.graph(mesh)
	r := busy(g, noon, hot(g, 7, schema.High, 0, 2))
	r.Jobs = []schema.Job{{Fabric: mesh, ID: "cause", Nodes: []string{"0,0"}, Start: schema.Instant(noon - 60*second), State: "RUNNING"}}
	for i := range 5 {
		r.Jobs = append(r.Jobs, schema.Job{Fabric: mesh, ID: fmt.Sprintf("array_%d", i), Nodes: []string{"1,0"}, Start: schema.Instant(noon - second), State: "RUNNING"})
	}
	r.Diagnoses = []schema.Diagnosis{{Fabric: mesh, Time: schema.Instant(noon), Region: 7, Metric: schema.CreditStall, Severity: schema.High, Links: r.Regions[0].Links,
		Cause: schema.Cause{Class: schema.CauseIntraApplication, Confidence: .9}, Jobs: []schema.AccusedJob{{JobID: "cause", Blame: .8}}}}
	h.store(g, r)
	for query, want := range map[string]string{"n=3": "array_2, array_3, array_4", "n=3&accused=true": "cause", "n=3&accused=true&at=2023-11-14T22:13:20Z": "cause"} {
		var ids []string
		for _, j := range decode[jobPage](t, h.get("fabrics/"+mesh+"/jobs?"+query, http.StatusOK)).Jobs {
			ids = append(ids, j.ID)
		}
		if got := strings.Join(ids, ", "); got != want {
			t.Errorf("%s lists %s, want %s", query, got, want)
		}
	}
}

// A job's nodes are counted as its scheduler counts them, a node with several rails once; so are hosts.
func TestNodesWithSeveralRailsCountOnce(t *testing.T) {
	const fabric = `{"giverny_topology": 1, "devices": [{"name": "leaf", "kind": "switch"}, {"name": "n1 mlx5_0", "kind": "host"}, {"name": "n1 mlx5_1", "kind": "host"}, {"name": "n2 mlx5_0", "kind": "host"}],
		"links": [["n1 mlx5_0", "1", "leaf", "1", 1e9, "host"], ["n1 mlx5_1", "1", "leaf", "2", 1e9, "host"], ["n2 mlx5_0", "1", "leaf", "3", 1e9, "host"]]}`
	g, _, err := topology.ReadYAML(strings.NewReader(fabric), "rails.json", "rails", nil)
	if err != nil {
		t.Fatal(err)
	}
	db, _ := database(t)
	h := serveGraphs(t, db, g)
	r := busy(g, noon)
	r.Jobs = []schema.Job{{Fabric: "rails", ID: "17", Nodes: []string{"n1 mlx5_0", "n1 mlx5_1", "n2 mlx5_0"}, Start: schema.Instant(noon), State: "RUNNING"}}
	h.store(g, r)
	if jobs := decode[jobPage](t, h.get("fabrics/rails/jobs", http.StatusOK)).Jobs; len(jobs) != 1 || jobs[0].NodeCount != 2 || len(jobs[0].Nodes) != 3 {
		t.Errorf("a job on three adapters of two nodes: %+v", jobs)
	}
	if s := decode[summary](t, h.get("fabrics/rails", http.StatusOK)); s.Hosts != 2 || s.Adapters != 3 {
		t.Errorf("%d hosts with %d adapters, want 2 with 3", s.Hosts, s.Adapters)
	}
}

// While the tables of a new database are being made, the answer is that of a service that is starting, with when
// to ask again; then the lists are empty.
func TestAnswersWhileTablesAreMade(t *testing.T) {
	const database = "test_tables_are_made"
	conn := enginetest.Connect(t, sharedEngine, "default")
	t.Cleanup(func() { // so that a second run finds no tables either
		if err := conn.Exec(context.WithoutCancel(t.Context()), "DROP DATABASE IF EXISTS "+database+" SYNC"); err != nil {
			t.Error(err)
		}
	})
	db, err := store.New(sharedEngine.Options(database), store.DefaultConfig(), store.Deps{Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h := serve(t, db, mesh)
	refused := func(path, when string) {
		t.Helper()
		response, err := http.Get(h.url + "/api/v1/fabrics/" + mesh + "/" + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" {
			t.Errorf("%s %s: %s, Retry-After %q", path, when, response.Status, response.Header.Get("Retry-After"))
		}
	}
	for _, path := range []string{"diagnoses", "jobs", "regions", "failures", "events"} {
		refused(path, "before there are tables")
	}
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"diagnoses", "jobs"} {
		if text := h.get("fabrics/"+mesh+"/"+path, http.StatusOK); !strings.Contains(text, `"`+path+`":[]`) {
			t.Errorf("%s of an empty store: %s", path, text)
		}
	}
	if err := conn.Exec(t.Context(), "ALTER TABLE "+database+".intervals DROP COLUMN unknown_since"); err != nil {
		t.Fatal(err)
	}
	refused("diagnoses", "where a column is still to come")
}
