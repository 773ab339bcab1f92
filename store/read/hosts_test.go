//go:build engine || integration

package read

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/schema"
)

const hostModel = "DGX #1"

// hostStep is a run's answer: one pair at a rate, accused if it is slow.
func hostStep(id, agent string, trigger order.Trigger, at schema.Instant, gbps float64) order.Step {
	pair := hostping.Pair{RNIC: "mlx5_0", Endpoint: "numa1"}
	r := hostping.Report{State: hostping.Idle, Model: hostModel, Probes: 2, Verdicts: []hostping.Verdict{}, Matrix: []hostping.Cell{{Pair: pair, LatencyMicros: 2, Gbps: gbps, BaselineLatencyMicros: 2, BaselineGbps: 100}}}
	if gbps < 80 {
		r.Verdicts = append(r.Verdicts, hostping.Verdict{Bottleneck: hostping.MemoryChannelFailure, Link: "numa1", Endpoint: "numa1", Confidence: 0.8,
			Text: fmt.Sprintf("memory channel of numa1 at %.0f%% of its baseline", gbps), Evidence: hostping.Evidence{Cleared: map[string][2]string{"mlx5_0": {"mlx5_0", "numa0"}}}})
	}
	return order.Step{RunID: id, Agent: agent, Status: schema.CommandDone, Time: at, Outcome: order.Outcome{Trigger: trigger, Mode: order.Full, Model: hostModel, Seconds: 1.5, Probes: 2,
		Report: &r, Graph: &hostping.Graph{Model: hostModel, Links: []hostping.Link{{ID: "mlx5_0", A: "sw", B: "mlx5_0", Kind: hostping.PCIe}, {ID: "numa1", A: "socket0", B: "numa1", Kind: hostping.Memory}}}}}
}

func hostRequest(id string, at schema.Instant) order.Step {
	return order.Step{RunID: id, Status: order.Requested, Time: at, Principal: "operator", Reason: "slow host", Outcome: order.Outcome{Trigger: order.Commanded, Mode: order.Full, Region: 5}}
}

// Runs arrive in any order and twice; answers under an id that was never requested are ignored, and a monitor's
// runs need no request.
func TestHostRuns(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	const second = schema.Instant(1e9)
	at := schema.Instant(1e18)
	begun := order.Step{RunID: "R1", Agent: "host56", Status: schema.CommandAccepted, Time: at + second}
	batches := [][]order.Step{
		{hostStep("R1", "host56", order.Commanded, at+9*second, 61), begun},
		{hostRequest("R1", at), hostRequest("R2", at+second)},
		{hostStep("forged", "host9", order.Commanded, at, 10)},
		{},
	}
	for i := range 5 {
		batches = append(batches, []order.Step{hostStep(order.MonitorID(fmt.Sprint("n", i), at), fmt.Sprint("n", i), order.IdleHost, at+schema.Instant(i), 100)})
	}
	for _, batch := range batches {
		for range 2 {
			if err := m.db.StoreHostRuns(ctx, "f", batch); err != nil {
				t.Fatal(err)
			}
		}
	}
	span := Span{at, at + 60*second}
	runs, err := m.HostRuns(ctx, "f", span, HostRunFilter{Region: 5}, 10)
	if err != nil || len(runs) != 2 || runs[1].RunID != "R2" || runs[1].Status != order.Requested || !runs[1].Running(at+2*second) {
		t.Fatalf("%+v, %v", runs, err)
	}
	want := HostRun{Agent: "host56", RunID: "R1", Status: schema.CommandDone, Time: at + 9*second, Principal: "operator", Why: "slow host", Trigger: order.Commanded, Mode: order.Full,
		Region: 5, Model: hostModel, State: hostping.Idle, Seconds: 1.5, Probes: 2, Verdicts: []HostVerdict{{hostping.MemoryChannelFailure, "numa1", 0.8}},
		Sentence: "host56: memory channel of numa1 at 61% of its baseline; cleared: its PCIe links"}
	if diff := cmp.Diff(want, runs[0]); diff != "" || runs[0].Running(at) {
		t.Error(diff)
	}
	states, err := m.HostStates(ctx, "f", span, hostModel, 10)
	if err != nil || len(states) != 6 || states[0].Agent != "host56" || states[1].Agent != "n0" {
		t.Errorf("%d states, %v: %+v", len(states), err, states)
	}
	outliers, err := m.HostOutliers(ctx, "f", span, "", 20, 10)
	wantOutlier := HostOutlier{"host56", "R1", at + 9*second, hostModel, "mlx5_0", "numa1", 61, 2, 100, 2, 6}
	if diff := cmp.Diff([]HostOutlier{wantOutlier}, outliers); err != nil || diff != "" {
		t.Error(err, diff)
	}
	report, err := m.HostReport(ctx, "f", "host56", "")
	if err != nil || report.Run.RunID != "R1" || report.Report.Matrix[0].Gbps != 61 || len(report.Graph.Links) != 2 {
		t.Errorf("%+v, %v", report, err)
	}
	for _, absent := range []string{"host9", "host1"} {
		if r, err := m.HostReport(ctx, "f", absent, ""); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %+v, %v", absent, r, err)
		}
	}
}

func TestHostBaselines(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	at := schema.Instant(1e18)
	for i, gbps := range []float64{99, 100, 101} {
		id := fmt.Sprint("B", i)
		step := order.Step{RunID: id, Agent: fmt.Sprint("n", i), Status: schema.CommandDone, Time: at, Outcome: order.Outcome{Trigger: order.Commanded, Mode: order.Baseline,
			Baseline: &hostping.Baseline{Version: hostping.BaselineVersion, Model: hostModel, LargeBytes: hostping.LargeBytes, Runs: 1, Pairs: []hostping.PairBaseline{
				{Pair: hostping.Pair{RNIC: "mlx5_0", Endpoint: "numa1"}, Links: []string{"mlx5_0", "numa1"}, LatencyMicros: []float64{2}, Gbps: []float64{gbps}}}}}}
		request := hostRequest(id, at)
		if err := m.db.StoreHostRuns(ctx, "f", []order.Step{request, step}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := m.HostBaselines(ctx, "f", "")
	if err != nil || len(list) != 1 || len(list[0].Agents) != 3 || list[0].Baseline.Runs != 3 || len(list[0].Baseline.Pairs[0].Gbps) != 3 {
		t.Errorf("%+v, %v", list, err)
	}
}
