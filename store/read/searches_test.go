//go:build engine || integration

package read

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
)

var someSubsystem = schema.Subsystem{NICModel: "MT4129", Board: "MT_0000000838", Firmware: "28.39.1002", CPU: "EPYC", PCIe: "32.0 GT/s x16", NPS: 4, Kernel: "6.1"}

func someFinding(experiment, revised int, mfs string) schema.SearchFinding {
	return schema.SearchFinding{Experiment: experiment, Revised: revised, Symptom: "pause", Workload: json.RawMessage(`{"qps":320}`), MFS: json.RawMessage(mfs)}
}

func searchStep(id, agent string, status schema.CommandStatus, sequence uint32, at schema.Instant, experiments int, findings ...schema.SearchFinding) schema.SearchStep {
	s := schema.SearchStep{SearchID: id, Agent: agent, Status: status, Sequence: sequence, Time: at}
	if status == schema.SearchRequested {
		s.Principal, s.Reason = "operator", "slow host"
	}
	if status != schema.CommandAccepted && status != schema.CommandFailed && status != schema.CommandRefused {
		s.Report = schema.SearchReport{Engine: "rig", Adapter: "mlx5_0", Subsystem: someSubsystem, Algorithm: "lift", Seed: 7, Peers: []string{"n2"}, Region: 5,
			Budget: 100, Experiments: experiments, Seconds: float64(experiments) * 30, Anomalies: len(findings), Findings: findings}
	}
	return s
}

// Steps arrive in several batches, twice and out of order; the newest message of each agent and the last revision
// of each finding count, and reports under an id that was never requested are ignored.
func TestSearches(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	const second = schema.Instant(1e9)
	at := schema.Instant(1e18)
	for _, batch := range [][]schema.SearchStep{
		{searchStep("a", "", schema.SearchRequested, 0, at, 0), searchStep("b", "", schema.SearchRequested, 0, at+second, 0), searchStep("c", "", schema.SearchRequested, 0, at+2*second, 0)},
		{searchStep("a", "n1", schema.CommandAccepted, 0, at+second, 0), searchStep("a", "n1", schema.CommandProgress, 1, at+2*second, 10, someFinding(7, 0, `{"qps":{"min":320}}`)),
			searchStep("a", "n1", schema.CommandProgress, 2, at+3*second, 40, someFinding(31, 0, `{"mtu":{"max":512}}`))},
		{searchStep("a", "n1", schema.CommandProgress, 3, at+4*second, 60, someFinding(7, 55, `{"qps":{"min":640}}`), someFinding(31, 56, `null`))},
		{searchStep("b", "n1", schema.CommandProgress, 1, at+9*second, 20, someFinding(3, 0, `{"qps":{"min":640}}`)), searchStep("b", "n1", schema.CommandFailed, 0, at+10*second, 0)},
		{searchStep("a", "n1", schema.CommandRefused, 0, at+20*second, 0)}, // a forged command under the id of a real one
		{searchStep("forged", "n9", schema.CommandDone, 0, at+5*second, 20, someFinding(1, 0, `{"sge":{"min":4}}`))},
		{},
	} {
		for range 2 {
			if err := m.db.StoreSearchSteps(ctx, "f", batch); err != nil {
				t.Fatal(err)
			}
		}
	}
	asks := func(id, verified, arguments string) schema.SeenCommand {
		return schema.SeenCommand{Verified: verified, Command: schema.Command{ID: id, Fabric: "f", Kind: schema.KindSearch, Arguments: json.RawMessage(arguments)}}
	}
	if err := m.db.StoreCommands(ctx, "f", []schema.SeenCommand{asks("a", schema.Verified, `{"budget":100,"restrict":{"qps":{"max":640}}}`),
		asks("a", "bad_signature", `{"restrict":{"qps":{"max":1}}}`), asks("b", schema.NotVerified, `{"budget":100}`)}); err != nil {
		t.Fatal(err)
	}
	list, err := m.Searches(ctx, "f", Span{From: at, To: at + 60*second}, 10)
	if err != nil || len(list) != 3 || list[0].ID != "c" || len(list[0].Agents) != 0 || list[1].ID != "b" || list[2].ID != "a" {
		t.Fatalf("%+v, %v", list, err)
	}
	want := Search{ID: "a", Requested: at, Principal: "operator", Why: "slow host", Region: 5, Engine: "rig", Algorithm: "lift", Peers: []string{"n2"}, Seed: 7, Budget: 100, Restrict: json.RawMessage(`{"qps":{"max":640}}`), Subsystem: someSubsystem,
		Agents: []SearchAgent{{Agent: "n1", Status: schema.CommandProgress, Time: at + 4*second, Adapter: "mlx5_0", Subsystem: someSubsystem, Experiments: 60, Seconds: 1800, Anomalies: 2}}}
	one, err := m.Search(ctx, "f", "a")
	if diff := cmp.Diff(want, one); err != nil || diff != "" || !one.Running(at+60*second) {
		t.Error(err, diff)
	}
	if b := list[1].Agents[0]; b.Status != schema.CommandFailed || b.Experiments != 20 || b.Subsystem != someSubsystem || list[1].Running(at+60*second) || list[1].Restrict != nil {
		t.Errorf("a search that failed keeps what it had: %+v", b)
	}
	if _, err := m.Search(ctx, "f", "forged"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a search that nobody requested: %v", err)
	}
	findings, err := m.SearchFindings(ctx, "f", "a")
	if err != nil || len(findings) != 1 || findings[0].Revised != 55 || string(findings[0].MFS) != `{"qps":{"min":640}}` {
		t.Errorf("findings %+v, %v", findings, err)
	}
	known, err := m.KnownAnomalies(ctx, "f", "MT4129")
	wantKnown := []KnownAnomaly{{Subsystem: someSubsystem, Symptom: "pause", MFS: json.RawMessage(`{"qps":{"min":640}}`), Workload: json.RawMessage(`{"qps":320}`),
		First: at + 4*second, Last: at + 9*second, Searches: []string{"b", "a"}}}
	if diff := cmp.Diff(wantKnown, known); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if other, err := m.KnownAnomalies(ctx, "f", "MT4125"); err != nil || len(other) != 0 {
		t.Errorf("of another model: %+v, %v", other, err)
	}
}

func TestHardware(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	report := func(agent, firmware string, at schema.Instant) schema.HardwareReport {
		return schema.HardwareReport{Agent: agent, Time: at, Hardware: schema.HostHardware{CPU: "EPYC", NPS: 4, Kernel: "6.1",
			Adapters: []schema.Adapter{{Name: "mlx5_0", Device: agent + " HCA-1", Model: "MT4129", Board: "MT_0000000838", Firmware: firmware, PCIe: "32.0 GT/s x16"}}}}
	}
	for _, batch := range [][]schema.HardwareReport{{report("n1", "28.38", 1e18)}, {report("n1", "28.39.1002", 2e18), report("n2", "28.38", 1e18)}, {}} {
		if err := m.db.StoreHardware(ctx, "f", batch); err != nil {
			t.Fatal(err)
		}
	}
	all, err := m.Hardware(ctx, "f", "")
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	one, err := m.Hardware(ctx, "f", "n1 HCA-1")
	if diff := cmp.Diff([]HostAdapter{{Agent: "n1", Adapter: "mlx5_0", Device: "n1 HCA-1", Time: 2e18, Subsystem: someSubsystem}}, one); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
