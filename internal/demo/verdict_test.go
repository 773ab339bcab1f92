package demo

import (
	"bytes"
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
)

// A verdict is printed once it has been stable for a few intervals; short changes and repeats are not.
func TestDemoVerdictsWaitUntilTheyStand(t *testing.T) {
	var out bytes.Buffer
	p := NewPrinter(&out, 8)
	p.begin(time.Unix(0, 0))
	own := func(confidence float64) schema.Diagnosis {
		return schema.Diagnosis{Region: 7, Severity: schema.High, Cause: schema.Cause{Class: schema.CauseIntraApplication, Confidence: confidence},
			Jobs: []schema.AccusedJob{{JobID: "103", Feature: "rdma_write_bytes"}}, Root: &schema.Root{Device: "4,4,4", Link: schema.NoLink},
			Action: "Place job 103 (PSDNS) in a compact block at its next start, or remap its ranks (TopoMapping) now; if it happens often, change its communication pattern."}
	}
	failed := schema.Diagnosis{Region: 7, Severity: schema.Medium, Cause: schema.Cause{Class: schema.CauseFailure, Confidence: .5},
		Failures: []schema.NearFailure{{Kind: schema.LinkFailed, Device: "1,1,1", Port: "X+"}}, Action: "Replace or reseat the cable at 1,1,1 port X+; place no job near it."}
	unknown := schema.Diagnosis{Region: 7, Cause: schema.Cause{Class: schema.CauseUnknown}}
	second := int64(0)
	born := func(id uint64) schema.Event { return schema.Event{Kind: schema.RegionBorn, RegionID: id} }
	events := []schema.Event{born(7)} // in the next step
	step := func(n int, found ...schema.Diagnosis) {
		for range n {
			p.verdicts(&schema.IntervalResult{Snapshot: &schema.Snapshot{Interval: schema.Interval{StartNanos: second * 1e9, DurationNanos: 1e9}},
				Jobs: []schema.Job{{ID: "103", Name: "PSDNS"}}, Diagnoses: found, Events: events})
			events = nil
			second++
		}
	}
	step(2, own(1))
	step(1, failed) // a short change
	step(6, own(1))
	step(3, failed)
	step(8, own(.7)) // printed already
	step(6, unknown)
	step(4, failed)
	silent := failed
	silent.Region = 8 // not announced
	other := silent
	other.Region = 9
	step(5, silent, other)
	events = []schema.Event{born(8), born(9)}
	step(4, silent, other)
	const want = "00:07 ? job 103 (PSDNS): its RDMA write traffic fills the links it stands on, back pressure begins at 4,4,4; " +
		"place it in a compact block at its next start. 99% sure [7]\n" +
		"00:30 ? link failed at 1,1,1 port X+; replace or reseat the cable at 1,1,1 port X+. 50% sure [7]\n" +
		"00:36 ? link failed at 1,1,1 port X+; replace or reseat the cable at 1,1,1 port X+. 50% sure [8 9]\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
}

// The job named in a line is "it" in the advice; if there are several, they are named.
func TestDemoAdvice(t *testing.T) {
	p := NewPrinter(&bytes.Buffer{}, 8)
	p.names["17"] = "io"
	for _, c := range []struct {
		action, want string
		jobs         int
	}{
		{"Ask the owner of job 17 (io) to spread the traffic to host0 over several receivers (a tree of aggregators), or to let the senders take turns; another placement does not help.", "ask its owner to spread the traffic to host0 over several receivers (a tree of aggregators)", 1},
		{"Remap the ranks of job 17 (io) so that neighbours meet; if it happens often, change its communication pattern.", "remap its ranks so that neighbours meet", 1},
		{"Place job 17 (io) and job 18 apart from each other at their next start; hold back new jobs.", "place job 17 (io) and job 18 apart from each other at their next start", 2},
		{"Probe host5 (giverny hostping).", "probe host5 (giverny hostping)", 0},
	} {
		d := schema.Diagnosis{Action: c.action, Jobs: []schema.AccusedJob{{JobID: "17"}, {JobID: "18"}}[:c.jobs]}
		if got := p.adviceOf(&d); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
