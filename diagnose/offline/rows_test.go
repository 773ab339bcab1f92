package offline_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/diagnose/offline"
	"github.com/giverny/giverny/schema"
)

// A failure of several nodes, as slurmctld logs it, is one of each, as it is in the live analysis.
func TestAFailureOfAHostList(t *testing.T) {
	files := offline.Files{Links: file("links.csv", someLinks), Failures: file("log", "2026-01-05T00:00:01Z\tnode_failed\thost[1-2]\n")}
	got, err := run(t, "fattree:leaves=4,hosts=12,spines=4", files, false)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(got.said(), "\n"); !strings.Contains(text, "node_failed host1 ; node_failed host2 ;") {
		t.Errorf("got %s", text)
	}
	files.Failures = file("log", "2026-01-05T00:00:01Z\tnode_failed\thost[2-1]\n")
	files.Links = file("links.csv", someLinks)
	if _, err := run(t, "fattree:leaves=4,hosts=12,spines=4", files, false); err == nil || !strings.HasPrefix(err.Error(), `log:1: device "host[2-1]"`) {
		t.Errorf("a list that is none: %v", err)
	}
}

// Jobs and failures that another parser has read are those of lines of the same text. A fault names their place; a running job
// whose nodes are not known is none.
func TestRowsOfAnotherParser(t *testing.T) {
	const failed = "2026-01-05T00:00:01Z\tlink_failed\t3,3,3\tX+\tlink down\n"
	const spec = "torus:4x4x4"
	at := func(text string) schema.Instant {
		i, err := schema.ParseInstant(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	job := schema.Job{ID: "17", Name: "PSDNS", User: "flow", Nodes: []string{"1,1,1", "2,1,1"}, Start: at("2026-01-05T00:00:30Z"), End: at("2026-01-05T00:02:10Z")}
	failure := schema.Failure{Time: at("2026-01-05T00:00:01Z"), Kind: schema.LinkFailed, Device: "3,3,3", Port: "X+", Detail: "link down"}
	files := func(job schema.Job, failure schema.Failure) offline.Files {
		f := offline.Files{Links: file("links.csv", someLinks), JobRows: &offline.Rows[schema.Job]{Name: "jobs", Unit: "job"}, FailureRows: &offline.Rows[schema.Failure]{Name: "log"}}
		f.JobRows.Add(job, 5)
		f.FailureRows.Add(failure, 7)
		return f
	}
	want, err := run(t, spec, offline.Files{Links: file("links.csv", someLinks), Jobs: file("jobs", someJob), Failures: file("log", failed)}, false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := run(t, spec, files(job, failure), false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.said(), got.said()); diff != "" {
		t.Errorf("rows differ from lines (-lines +rows):\n%s", diff)
	}
	without, nowhere, elsewhere := job, job, failure
	without.Nodes, without.End = nil, 0
	nowhere.Nodes, elsewhere.Device = []string{"9,9,9"}, "9,9,9"
	if _, err := run(t, spec, files(without, failure), false); err != nil {
		t.Errorf("a job without nodes: %v", err)
	}
	if _, err := run(t, spec, files(nowhere, failure), false); err == nil || !strings.HasPrefix(err.Error(), `jobs: job 5: job "17": node "9,9,9" is no device`) {
		t.Errorf("an unknown node: %v", err)
	}
	if _, err := run(t, spec, files(job, elsewhere), false); err == nil || !strings.HasPrefix(err.Error(), `log:7: device "9,9,9" is not in the topology`) {
		t.Errorf("an unknown device: %v", err)
	}
}
