package scenario_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
)

// Failures of nodes and switches are reported as such; the log's content is in both
// events and failures.
func TestFailuresOfNodesAndSwitches(t *testing.T) {
	r, err := scenario.New(nil, read(t, `
fabric: {topology: "fattree:leaves=2,hosts=4,spines=2"}
interval: 1s
duration: 4s
events:
  - {after: 1s, do: fail_switch, object: host3, for: 1s, say: "A node dies."}
  - {after: 1s, do: fail_switch, object: spine0}
  - {after: 3s, do: throttle}`), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for step, ok := r.Step(); ok; step, ok = r.Step() {
		for _, f := range step.Failures {
			got = append(got, fmt.Sprintf("%d %s %s", int64(f.Time)/1e9, f.Kind, f.Device))
			if f.Fabric != r.Graph().Fabric() {
				t.Errorf("failure of fabric %q", f.Fabric)
			}
			if !slices.ContainsFunc(step.Events, func(e schema.Event) bool {
				return e.Kind == f.Kind && e.Device == f.Device && e.TimeNanos == int64(f.Time)
			}) {
				t.Errorf("%+v is no event", f)
			}
		}
	}
	want := []string{"1 node_failed host3", "1 switch_failed spine0", "2 node_restored host3", "3 congestion_protection "}
	if !slices.Equal(got, want) {
		t.Errorf("failures %q, want %q", got, want)
	}
}

// A link of a failed switch stays down if its own failure ends before the switch's.
func TestLinkOfAFailedSwitch(t *testing.T) {
	r, err := scenario.New(nil, read(t, `
fabric: {topology: "fattree:leaves=2,hosts=2,spines=1"}
interval: 1s
duration: 6s
jobs: [{id: a, hosts: "0,2", traffic: [{pattern: ring, gigabytes_per_second: 1}]}]
events:
  - {after: 1s, do: fail_switch, object: spine0, for: 3s}
  - {after: 1s, do: fail_link, object: "leaf0 3", for: 1s}
  - {after: 1s, do: fail_link, object: "leaf1 3", for: 1s}`), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	var unreachable []int
	for step, ok := r.Step(); ok; step, ok = r.Step() {
		unreachable = append(unreachable, step.Traffic[0].UnreachableFlows)
	}
	if want := []int{0, 2, 2, 2, 0, 0}; !slices.Equal(unreachable, want) {
		t.Errorf("flows without a way by second: %v, want %v", unreachable, want)
	}
}

func TestSwitchFailureKillsItsJob(t *testing.T) {
	r, err := scenario.New(nil, read(t, `
fabric: {topology: "torus:4x4x4"}
interval: 1s
duration: 10s
jobs: [{id: doomed, at: [1,1,1], size: [2,2,2], traffic: [{pattern: halo, gigabytes_per_second: 1}]}]
events: [{after: 5s, do: fail_switch, object: "2,2,2", for: 3s}]`), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	var rows []int
	failed := false
	for step, ok := r.Step(); ok; step, ok = r.Step() {
		rows = append(rows, step.Batches[len(step.Batches)-1].Rows())
		for _, rec := range step.Jobs {
			failed = failed || rec.ID == "doomed" && rec.State == "failed"
		}
	}
	if !failed {
		t.Error("the job on the switch must fail with it")
	}
	if rows[4] != 384 || rows[5] != 378 || rows[8] != 384 {
		t.Errorf("rows by second: %v; the switch's six must be gone from second 5 to 7", rows)
	}
}

func TestProtection(t *testing.T) {
	r, err := scenario.New(nil, read(t, `
fabric: {topology: "torus:4x4x4", receive_gigabytes_per_second: 1}
interval: 1s
duration: 40s
protection: {high_percent: 30, low_percent: 10, links: 20, hold: 5s}
jobs: [{at: [0,0,0], size: [4,4,4], traffic: [{pattern: all_to_all, gigabytes_per_second: 2, from: 10s, to: 12s}]}]`), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	throttled := 0
	for step, ok := r.Step(); ok; step, ok = r.Step() {
		for _, e := range step.Events {
			if e.Kind == schema.Throttled {
				throttled++
			}
		}
		if at := step.Interval.StartNanos / 1e9; at > 11 && len(step.Truth.Links) > 0 {
			t.Errorf("second %d: %d links stall while all NICs are throttled", at, len(step.Truth.Links))
		}
	}
	if throttled != 1 {
		t.Errorf("throttled %d times, want once", throttled)
	}
}

// TestADetourDoesNotFillAReceiver: a host receives the same amount over any path, so a failure elsewhere is not the reason
// that its port is full.
func TestADetourDoesNotFillAReceiver(t *testing.T) {
	for _, cable := range []string{"leaf1 5", "leaf1 6"} {
		r, err := scenario.New(nil, read(t, `
fabric: {topology: "fattree:leaves=2,hosts=4,spines=2"}
interval: 1s
duration: 9s
jobs: [{id: full, hosts: "0-5", traffic: [{pattern: many_to_one, target: 0, gigabytes_per_second: 2.9, from: 2s}]}]
events: [{after: 2s, do: fail_link, object: "`+cable+`"}]`), 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		stalled := 0
		for step, ok := r.Step(); ok; step, ok = r.Step() {
			for _, c := range step.Truth.Causes {
				stalled += len(c.Links)
				if c.Class == scenario.FailureCause {
					t.Errorf("%s failed: %v is called full by %s", cable, c.Roots, c.Object)
				}
			}
		}
		if stalled == 0 {
			t.Errorf("%s failed: no link stalls", cable)
		}
	}
}
