package alertmanager

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/schema"
)

func alertsOf(r *schema.IntervalResult, generator string) []Alert {
	return incidents{}.alerts(r, schema.Medium, generator, time.Time{})
}

// The whole alert of a region, without and with a diagnosis.
func TestAlerts(t *testing.T) {
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "ib0", Interval: schema.Interval{StartNanos: 1764194400e9, DurationNanos: 60e9}},
		Regions: []schema.Region{{ID: 1, Severity: schema.High, Metric: schema.XmitWait, Mean: 41.25, Links: []schema.LinkID{4, 5}},
			{ID: 2, Severity: schema.Medium, Metric: schema.PauseRx, Mean: 20, Links: []schema.LinkID{6}, Name: "pod 3", BirthNanos: 1764190800e9}},
		Diagnoses: []schema.Diagnosis{{Region: 2, Cause: schema.Cause{Class: schema.CauseSystem}, Text: "why", Action: "what to do"}}}
	want := []Alert{
		{StartsAt: time.Unix(1764194400, 0).UTC(),
			Labels:      map[string]string{"alertname": "GivernyCongestionRegion", "fabric": "ib0", "region": "1", "incident": "1", "metric": "xmit_wait", "severity": "high", "class": "unknown"},
			Annotations: map[string]string{"summary": "region 1: High congestion, mean xmit_wait 41.2% over 2 links"}},
		{StartsAt: time.Unix(1764190800, 0).UTC(),
			Labels:      map[string]string{"alertname": "GivernyCongestionRegion", "fabric": "ib0", "region": "2", "incident": "2", "metric": "pause_rx", "severity": "medium", "class": "system"},
			Annotations: map[string]string{"summary": "pod 3: Medium congestion, mean pause_rx 20.0% over 1 link", "description": "why", "action": "what to do"}},
	}
	if diff := cmp.Diff(want, alertsOf(r, ""), cmpopts.IgnoreUnexported(Alert{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	cfg := Config{Enabled: true, Password: secret.NewText("x"), PasswordFile: "y", PageURL: "giverny.example"}
	err := cfg.Validate()
	for _, key := range []string{"urls", "password_file", "min_severity", "resend", "timeout", "page_url"} {
		if err == nil || !strings.Contains(err.Error(), key+":") {
			t.Errorf("no fault of %s in %v", key, err)
		}
	}
	for address, valid := range map[string]bool{"http://localhost:9093": true, "https://alerts.example/": true, "localhost:9093": false, "ftp://localhost": false, "http://": false, "": false} {
		cfg := DefaultConfig()
		cfg.Enabled, cfg.URLs = true, []secret.URL{secret.NewURL(address)}
		if err := cfg.Validate(); (err == nil) != valid || err != nil && !strings.Contains(err.Error(), "urls.0:") {
			t.Errorf("%q: %v", address, err)
		}
	}
	if cfg := DefaultConfig(); cfg.Validate() != nil || cfg.Enabled || !cfg.DryRun {
		t.Error("by default it is off, and a dry run")
	}
}

// Annotations are for people: the root is named as elsewhere, and names from outside cannot control a terminal.
func TestAnnotations(t *testing.T) {
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "ib0"}, Regions: []schema.Region{{ID: 1, Severity: schema.High, Mean: 40, Name: "incast at leaf7 port 1 (host56)"}},
		Diagnoses: []schema.Diagnosis{{Region: 1, Jobs: []schema.AccusedJob{{JobID: "17\u202e\x1b[31m"}}, Root: &schema.Root{Device: "MF0;leaf7:MQM8700/U1", Port: "1"}}}}
	found := alertsOf(r, "")
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
		if got := alertsOf(r, page)[0].GeneratorURL; got != want {
			t.Errorf("%q: %q, want %q", page, got, want)
		}
	}
}
