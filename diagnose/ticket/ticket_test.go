package ticket_test

import (
	"strings"
	"testing"

	"github.com/giverny/giverny/diagnose/correlation"
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/ticket"
	"github.com/giverny/giverny/schema"
)

// region has one link that stalls for 30% of the time.
func region(name string) *schema.Region {
	return &schema.Region{Severity: schema.High, Mean: 30, Name: name, Links: []schema.LinkID{7}}
}

// TestSlowdowns: a bound that the cap of the stall limits may be more.
func TestSlowdowns(t *testing.T) {
	const most = 1 / (1 - root.MaxStall)
	for _, c := range []struct {
		slowdown [2]float64
		want     string
	}{
		{[2]float64{1.5, 2.1}, "1.5 to 2.1"}, {[2]float64{1.02, 1.4}, "up to 1.4"}, {[2]float64{1.4, 1.4}, "1.4"},
		{[2]float64{1, 1.25}, "up to 1.3"}, {[2]float64{1.2, most}, "1.2 or more"}, {[2]float64{most, most},
			"20 or more"},
		{[2]float64{1, most}, "1 or more"},
	} {
		f := ticket.Finding{Region: region("pod 3")}
		d := schema.Diagnosis{Victims: []schema.VictimJob{{JobID: "8", Slowdown: c.slowdown}}}
		if got := f.Text("", &d); !strings.Contains(got, " It slows down job 8 by a factor of "+c.want+". ") {
			t.Errorf("%v: %q, want %q", c.slowdown, got, c.want)
		}
	}
}

// TestTextBegins: the first words are a severity and a noun that goes with it, in the singular for one link.
func TestTextBegins(t *testing.T) {
	const stalls = ": 1 link stalls for 30% of the time on average."
	for name, want := range map[string]string{
		"pod 3":                           "High congestion in pod 3",
		"failed link at leaf3":            "High congestion by a failed link at leaf3",
		"incast at leaf0 port 1 (host0)":  "High congestion by an incast at leaf0 port 1 (host0)",
		"congestion tree at leaf3 port 9": "High congestion tree at leaf3 port 9",
	} {
		f := ticket.Finding{Region: region(name)}
		if got := f.Text("", &schema.Diagnosis{}); !strings.HasPrefix(got, want+stalls) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestTextNamesTheSlowHost: once, and not that a receiver does not drain twice.
func TestTextNamesTheSlowHost(t *testing.T) {
	at := &schema.Root{Device: "leaf2", Port: "2", Peer: "host17", Kind: schema.RootSlowReceiver}
	f := ticket.Finding{Region: region("pod 3"), Class: schema.CauseSlowHost, Root: at,
		Back: &root.BackPressure{Root: root.Port{Kind: schema.RootSlowReceiver, Use: 20}}}
	got := f.Text(f.Reasons(), &schema.Diagnosis{Cause: schema.Cause{Class: schema.CauseSlowHost}, Root: at})
	if want := " host17 does not drain its incoming traffic. Back pressure begins at leaf2 port 2 to host17, which " +
		"carries 20% of its capacity. "; !strings.Contains(got, want) {
		t.Error(got)
	}
}

// TestAnAccusationSaysWhatItHas: zero traffic is no evidence, and file traffic is named if the advice is about it.
func TestAnAccusationSaysWhatItHas(t *testing.T) {
	traffic := history.NewTraffic(1, 0) // without values in the table
	unlisted := &history.Job{Job: schema.Job{ID: "17"}, Traffic: traffic}
	of := &history.Job{Job: schema.Job{ID: "17"}}
	reasons := func(class schema.CauseClass, j ticket.Job) string {
		f := ticket.Finding{Class: class, Interval: 60e9, Accused: []ticket.Job{j}}
		return f.Reasons()
	}
	if got := reasons(schema.CauseIntraApplication,
		ticket.Job{Job: of, Feature: history.RDMARead}); strings.Contains(got, "reached") {
		t.Errorf("a job of which no byte was seen: %s", got)
	}
	reads := ticket.Job{Job: of, Files: true, Feature: history.RDMARead, Value: 1e9}
	if got := reasons(schema.CauseSystem, reads); !strings.Contains(got, "its file traffic") ||
		!strings.Contains(got, "reached 1 GB") {
		t.Errorf("a job that reads from storage: %s", got)
	}
	for f, want := range map[history.Feature]string{
		history.RDMARead:  " By the counters of their links, its hosts received up to 1 TB in an interval of 1m0s.",
		history.RDMAWrite: " By the counters of their links, its hosts sent up to 1 TB in an interval of 1m0s.",
		history.Read:      " By the counters of its hosts' links, up to 1 TB in an interval of 1m0s came from outside the job.",
		history.Write:     " By the counters of its hosts' links, up to 1 TB in an interval of 1m0s left the job.",
	} {
		j := ticket.Job{Job: unlisted, Feature: f, Value: .9999e12, Stall: correlation.Result{P: 1}}
		if got := reasons(schema.CauseSystem, j); !strings.Contains(got, want) {
			t.Errorf("%v without a traffic table: %s", f, got)
		}
	}
	traffic.Listed[history.RDMARead] = true
	reads.Job = unlisted
	if got := reasons(schema.CauseSystem, reads); !strings.Contains(got,
		" Its RDMA read traffic reached 1 GB in an interval of 1m0s.") {
		t.Errorf("RDMA reads of the traffic table: %s", got)
	}
}

// TestWhyUnknownCounts: a single job is not called "none of".
func TestWhyUnknownCounts(t *testing.T) {
	for n, want := range map[int]string{1: "The job near the region does not explain it.",
		2: "None of the 2 jobs near the region explains it."} {
		f := ticket.Finding{Class: schema.CauseUnknown, Back: &root.BackPressure{},
			Unknown: ticket.Unknown{Jobs: n, Likeliest: &history.Job{}}}
		if got := f.Reasons(); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
