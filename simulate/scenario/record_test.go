package scenario_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
)

// In a step's traffic as a feed, every feature is measured, including zeros.
func TestJobTrafficOfAStep(t *testing.T) {
	step := scenario.Step{Interval: schema.Interval{StartNanos: 60e9, DurationNanos: 60e9},
		Traffic: []scenario.JobTraffic{{JobID: "7", ReadBytes: 1, RDMAReadBytes: 2, RDMAWriteBytes: 3, AllToAllBytes: 4}}}
	want := []schema.JobTraffic{{Fabric: "f", JobID: "7", Time: 60e9, Read: new(1.0), Write: new(0.0), RDMARead: new(2.0), RDMAWrite: new(3.0)}}
	if diff := cmp.Diff(want, step.JobTraffic("f")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
