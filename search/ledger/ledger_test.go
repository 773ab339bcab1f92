package ledger_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search/ledger"
)

func TestRequests(t *testing.T) {
	seen := func(id, verified string, edit func(*schema.Command)) schema.SeenCommand {
		c := schema.SeenCommand{Verified: verified, Command: schema.Command{ID: id, Kind: schema.KindSearch, Principal: "operator", Issued: 5,
			Arguments: json.RawMessage(`{"engine":"rig","subsystem":{"nic_model":"MT4129"},"budget":100,"duration_seconds":1,"seed":7,"region":"12","reason":"slow"}`)}}
		if edit != nil {
			edit(&c.Command)
		}
		return c
	}
	got := ledger.Requests([]schema.SeenCommand{seen("a", schema.Verified, nil), seen("b", schema.NotVerified, nil), seen("forged", "bad_signature", nil),
		seen("dry", schema.Verified, func(c *schema.Command) { c.DryRun = true }), seen("other", schema.Verified, func(c *schema.Command) { c.Kind = "hostping" }),
		seen("rubbish", schema.Verified, func(c *schema.Command) { c.Arguments = json.RawMessage(`{"budget":"many"}`) })})
	want := func(id string) schema.SearchStep {
		return schema.SearchStep{SearchID: id, Status: schema.SearchRequested, Time: 5, Principal: "operator", Reason: "slow",
			Report: schema.SearchReport{Engine: "rig", Subsystem: schema.Subsystem{NICModel: "MT4129"}, Seed: 7, Region: 12, Budget: 100}}
	}
	if diff := cmp.Diff([]schema.SearchStep{want("a"), want("b")}, got); diff != "" {
		t.Error(diff)
	}
}

func TestStepsAndHardware(t *testing.T) {
	report := schema.SearchReport{Engine: "rig", Experiments: 3, Findings: []schema.SearchFinding{{Experiment: 2, Symptom: "pause", Workload: json.RawMessage(`{}`), MFS: json.RawMessage(`{"qps":{"min":320}}`)}}}
	text, err := json.Marshal(&report)
	if err != nil {
		t.Fatal(err)
	}
	results := []schema.CommandResult{
		{CommandID: "a", Agent: "n1", Status: schema.CommandAccepted, Kind: schema.KindSearch, Time: 1},
		{CommandID: "a", Agent: "n1", Status: schema.CommandProgress, Sequence: 4, Kind: schema.KindSearch, Time: 2, Output: text},
		{CommandID: "a", Agent: "n1", Status: schema.CommandFailed, Kind: schema.KindSearch, Time: 3, Reason: "agent restarted"},
		{CommandID: "a", Agent: "n1", Status: schema.CommandDone, Kind: schema.KindSearch, Output: json.RawMessage(`[]`)},
		{CommandID: "b", Agent: "n1", Status: schema.CommandDone, Kind: "hostping", Output: text},
		{CommandID: "c", Agent: "n2", Status: schema.CommandDone, Kind: schema.KindAgentsList, Time: 9, Output: json.RawMessage(`{"version":"1","hardware":{"cpu":"EPYC","adapters":[{"name":"mlx5_0","device":"n2","model":"MT4129"}]}}`)},
		{CommandID: "c", Agent: "n3", Status: schema.CommandDone, Kind: schema.KindAgentsList, Output: json.RawMessage(`{"version":"0"}`)},
		{CommandID: "c", Agent: "n4", Status: schema.CommandRefused, Kind: schema.KindAgentsList},
		{CommandID: "c", Agent: "n5", Status: schema.CommandProgress, Kind: schema.KindAgentsList, Output: json.RawMessage(`{"hardware":{"adapters":[{"name":"mlx5_0"}]}}`)},
		{CommandID: "d", Agent: "n6", Status: schema.CommandDone, Kind: "hostping", Output: json.RawMessage(`{"hardware":{"adapters":[{"name":"mlx5_0"}]}}`)},
	}
	want := []schema.SearchStep{{SearchID: "a", Agent: "n1", Status: schema.CommandAccepted, Time: 1}, {SearchID: "a", Agent: "n1", Status: schema.CommandProgress, Sequence: 4, Time: 2, Report: report},
		{SearchID: "a", Agent: "n1", Status: schema.CommandFailed, Time: 3, Reason: "agent restarted"}}
	if diff := cmp.Diff(want, ledger.Steps(results)); diff != "" {
		t.Error(diff)
	}
	hardware := []schema.HardwareReport{{Agent: "n2", Time: 9, Hardware: schema.HostHardware{CPU: "EPYC", Adapters: []schema.Adapter{{Name: "mlx5_0", Device: "n2", Model: "MT4129"}}}}}
	if diff := cmp.Diff(hardware, ledger.Hardware(results)); diff != "" {
		t.Error(diff)
	}
}
