package alertmanager_test

import (
	"testing"

	"github.com/giverny/giverny/feedback/alertmanager"
	"github.com/giverny/giverny/schema"
)

// Annotations are for people: the root is named as elsewhere, and names from outside cannot control a terminal.
func TestAnnotations(t *testing.T) {
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "ib0"}, Regions: []schema.Region{{ID: 1, Severity: schema.High, Mean: 40, Name: "incast at leaf7 port 1 (host56)"}},
		Diagnoses: []schema.Diagnosis{{Region: 1, Jobs: []schema.AccusedJob{{JobID: "17\u202e\x1b[31m"}}, Root: &schema.Root{Device: "MF0;leaf7:MQM8700/U1", Port: "1"}}}}
	found := alertmanager.Of(r, schema.Medium, "")
	if len(found) != 1 {
		t.Fatalf("%d alerts", len(found))
	}
	for name, want := range map[string]string{"root": "leaf7 port 1", "job": "17??[31m"} {
		if got := found[0].Annotations[name]; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The link of an alert opens the page at the region, in an interval in which it exists.
func TestLinks(t *testing.T) {
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "ib 0", Interval: schema.Interval{StartNanos: 1764194400e9, DurationNanos: 60e9}}, Regions: []schema.Region{{ID: 1882957939736577, Severity: schema.High}}}
	const query = "?at=2025-11-26T22%3A00%3A00Z&fabric=ib+0&region=1882957939736577"
	for page, want := range map[string]string{"": "", "https://giverny.example/page/": "https://giverny.example/page/" + query, "http://g/?token=a": "http://g/" + query + "&token=a"} {
		if got := alertmanager.Of(r, schema.Medium, page)[0].GeneratorURL; got != want {
			t.Errorf("%q: %q, want %q", page, got, want)
		}
	}
}
