package diagnose

import (
	"strings"
	"testing"

	"github.com/giverny/giverny/diagnose/correlation"
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestFactorText: a bound that the cap of the stall limits may be more.
func TestFactorText(t *testing.T) {
	for _, c := range []struct {
		slowdown [2]float64
		want     string
	}{
		{[2]float64{1.5, 2.1}, "1.5 to 2.1"}, {[2]float64{1.02, 1.4}, "up to 1.4"}, {[2]float64{1.4, 1.4}, "1.4"}, {[2]float64{1, 1.25}, "up to 1.3"},
		{[2]float64{1.2, 1 / (1 - root.MaxStall)}, "1.2 or more"}, {[2]float64{1 / (1 - root.MaxStall), 1 / (1 - root.MaxStall)}, "20 or more"}, {[2]float64{1, 1 / (1 - root.MaxStall)}, "1 or more"},
	} {
		if got := factorText(c.slowdown); got != c.want {
			t.Errorf("%v: %q, want %q", c.slowdown, got, c.want)
		}
	}
}

// TestTextBegins: the first words are a severity and a noun that goes with it, in the singular for one link.
func TestTextBegins(t *testing.T) {
	for name, want := range map[string]string{
		"pod 3":                           "High congestion in pod 3: 1 link stalls for 30% of the time on average.",
		"failed link at leaf3":            "High congestion by a failed link at leaf3: 1 link stalls for 30% of the time on average.",
		"incast at leaf0 port 1 (host0)":  "High congestion by an incast at leaf0 port 1 (host0): 1 link stalls for 30% of the time on average.",
		"congestion tree at leaf3 port 9": "High congestion tree at leaf3 port 9: 1 link stalls for 30% of the time on average.",
	} {
		r := &report{&regionCase{region: &schema.Region{Severity: schema.High, Mean: 30, Name: name, Links: []schema.LinkID{7}}}}
		if got := r.text("", &schema.Diagnosis{}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestTextNamesTheSlowHost: once, and not that a receiver does not drain twice.
func TestTextNamesTheSlowHost(t *testing.T) {
	r := &report{&regionCase{verdict: verdict{class: schema.CauseSlowHost}, back: root.BackPressure{Root: root.Port{Kind: schema.RootSlowReceiver, Use: 20}}}}
	d := schema.Diagnosis{Cause: schema.Cause{Class: schema.CauseSlowHost}, Root: &schema.Root{Device: "leaf2", Port: "2", Peer: "host17", Kind: schema.RootSlowReceiver}}
	if got := r.because(d.Root) + r.rootText(&d); got != "host17 does not drain its incoming traffic. Back pressure begins at leaf2 port 2 to host17, which carries 20% of its capacity." {
		t.Error(got)
	}
}

// TestAccusationSaysWhatItHas: zero traffic is no evidence, and file traffic is named if the advice is about it.
func TestAccusationSaysWhatItHas(t *testing.T) {
	r := &report{&regionCase{in: &interval{history: &history.History{Clock: history.Clock{Duration: 60e9}}}}}
	of := &job{Job: &history.Job{Job: schema.Job{ID: "17"}}}
	if text := r.accusation(&suspect{job: of, known: true, feature: history.RDMARead, cross: 1}, schema.CauseIntraApplication, nil); strings.Contains(text, "reached") {
		t.Errorf("a job of which no byte was seen: %s", text)
	}
	reads := &suspect{job: of, known: true, feature: history.RDMARead, value: 1e9}
	if text := r.accusation(reads, schema.CauseSystem, nil); !strings.Contains(text, "its file traffic") || !strings.Contains(text, "reached 1 GB") {
		t.Errorf("a job that reads from storage: %s", text)
	}
	of.Traffic = history.NewTraffic(1, 0) // without values in the table
	for f, want := range map[history.Feature]string{
		history.RDMARead:  " By the counters of their links, its hosts received up to 1 TB in an interval of 1m0s.",
		history.RDMAWrite: " By the counters of their links, its hosts sent up to 1 TB in an interval of 1m0s.",
		history.Read:      " By the counters of its hosts' links, up to 1 TB in an interval of 1m0s came from outside the job.",
		history.Write:     " By the counters of its hosts' links, up to 1 TB in an interval of 1m0s left the job.",
	} {
		if text := r.accusation(&suspect{job: of, known: true, feature: f, value: .9999e12, evidence: evidence{Result: correlation.Result{P: 1}}}, schema.CauseSystem, nil); !strings.Contains(text, want) {
			t.Errorf("%v without a traffic table: %s", f, text)
		}
	}
	of.Traffic.Listed[history.RDMARead] = true
	if text := r.accusation(reads, schema.CauseSystem, nil); !strings.Contains(text, " Its RDMA read traffic reached 1 GB in an interval of 1m0s.") {
		t.Errorf("RDMA reads of the traffic table: %s", text)
	}
}

// TestWhyUnknownCounts: a single job is not called "none of".
func TestWhyUnknownCounts(t *testing.T) {
	var in interval
	for n, want := range map[int]string{1: "The job near the region does not explain it.", 2: "None of the 2 jobs near the region explains it."} {
		if got := (&report{&regionCase{in: &in, suspects: make([]suspect, n)}}).whyUnknown(); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// TestWhoCannotBePlacedOtherwise: a job on all leaf switches, or on one, is not advised to be placed in a block.
func TestWhoCannotBePlacedOtherwise(t *testing.T) {
	g, err := topology.Parse("ib0", "fattree:leaves=4,hosts=4,spines=2")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	hosts := g.Hosts()
	for name, c := range map[string]struct {
		devices []topology.DeviceID
		want    bool
	}{
		"all": {hosts, false}, "all but three": {hosts[:13], false}, "one leaf": {hosts[4:8], false}, "all but a leaf": {append([]topology.DeviceID{hosts[15]}, hosts[:11]...), true}, "two leaves": {[]topology.DeviceID{hosts[0], hosts[15]}, true},
	} {
		if got := (&report{&regionCase{in: &s.interval}}).spreadOut(&job{Job: &history.Job{Devices: c.devices}}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
