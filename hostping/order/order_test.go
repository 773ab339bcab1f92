package order_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/schema"
)

func TestSentence(t *testing.T) {
	g := &hostping.Graph{Links: []hostping.Link{{ID: "pci:mlx5_0", Kind: hostping.PCIe}, {ID: "bus", Kind: hostping.InterSocket}, {ID: "memory:numa1", Kind: hostping.Memory}}}
	cell := []hostping.Cell{{}, {}}
	verdict := hostping.Verdict{Bottleneck: hostping.MemoryChannelFailure, Link: "memory:numa1", Endpoint: "numa1", Text: "memory channel of numa1 at 61% of baseline (121 Gb/s); cleared: bus, pci:mlx5_0",
		Evidence: hostping.Evidence{Cleared: map[string][2]string{"pci:mlx5_0": {"mlx5_0", "numa0"}, "bus": {"mlx5_0", "numa0"}}}}
	bare := hostping.Verdict{Bottleneck: hostping.MemoryChannelOverloaded, Link: "memory:numa1", Endpoint: "numa1", OverloadedBy: []hostping.Consumer{{PID: 7, Name: "trainer", Share: 0.6}}}
	for want, r := range map[string]hostping.Report{
		"host56: nothing could be measured":                                                                                   {},
		"host56: no bottleneck inside the host, 2 of its paths match their baseline":                                          {Matrix: cell},
		"host56: memory channel of numa1 at 61% of baseline (121 Gb/s); cleared: its PCIe links, the bus between its sockets": {Matrix: cell, Verdicts: []hostping.Verdict{verdict}},
		"host56: memory channel overloaded memory:numa1 numa1, by trainer (pid 7, 60%)":                                       {Matrix: cell, Verdicts: []hostping.Verdict{bare}},
		"host56: memory channel of numa1 at 61% of baseline (121 Gb/s); memory channel overloaded memory:numa1 numa1, by trainer (pid 7, 60%); cleared: its PCIe links, the bus between its sockets": {Verdicts: []hostping.Verdict{verdict, bare}},
	} {
		if got := order.Sentence("host56", &r, g); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// Messages that are not runs, forged, or of a monitor under a command's id and vice versa produce no step.
func TestSteps(t *testing.T) {
	command := func(id, kind, verified string, dry bool) schema.SeenCommand {
		return schema.SeenCommand{Command: schema.Command{ID: id, Kind: kind, DryRun: dry, Principal: "operator", Arguments: json.RawMessage(`{"mode":"full","region":"5","reason":"slow"}`)}, Verified: verified}
	}
	requests := order.Requests([]schema.SeenCommand{command("a", order.Kind, schema.Verified, false), command("b", order.Kind, "signature is not valid", false), command("c", "search", schema.Verified, false),
		command("d", order.Kind, schema.Verified, true), command("monitor.n1.x", order.Kind, schema.Verified, false),
		{Command: schema.Command{ID: "e", Kind: order.Kind, Arguments: json.RawMessage(`[]`)}, Verified: schema.Verified}, command("f", order.Kind, schema.NotVerified, false)})
	if len(requests) != 2 || requests[1].RunID != "f" || requests[0].RunID != "a" || requests[0].Principal != "operator" || requests[0].Outcome.Mode != order.Full || requests[0].Outcome.Trigger != order.Commanded || requests[0].Outcome.Region != 5 || requests[0].Status != order.Requested || requests[0].Reason != "slow" {
		t.Errorf("requests %+v", requests)
	}
	if id := order.MonitorID(strings.Repeat("Zz0-", 9), 0); id != "monitor."+strings.Repeat("Zz0-", 8)+".19700101T000000.000" || len(id) > 64 {
		t.Errorf("id %q of %d bytes", id, len(id))
	}
	monitor := order.MonitorID("n1/../x", schema.InstantOf(time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)))
	if monitor != "monitor.n1____x.20260102T030405.006" {
		t.Errorf("id %q", monitor)
	}
	result := func(id, kind, output string, status schema.CommandStatus) schema.CommandResult {
		return schema.CommandResult{CommandID: id, Kind: kind, Agent: "n1", Status: status, Output: json.RawMessage(output)}
	}
	var got []string
	for _, s := range order.Steps([]schema.CommandResult{result("a", order.Kind, "", schema.CommandAccepted), result("a", order.Kind, `{"trigger":"command"}`, schema.CommandDone),
		result("a", order.Kind, `{"trigger":"idle"}`, schema.CommandDone), result(monitor, order.Kind, `{"trigger":"idle"}`, schema.CommandDone), result(monitor, order.Kind, `{"trigger":"command"}`, schema.CommandDone),
		result("a", "search", `{"trigger":"command"}`, schema.CommandDone), result("a", order.Kind, `{"trigger":"command"}`, schema.CommandProgress), result("a", order.Kind, `[]`, schema.CommandDone)}) {
		got = append(got, s.RunID+" "+string(s.Status)+" "+string(s.Outcome.Trigger))
	}
	if want := "a accepted ; a done command; " + monitor + " done idle"; strings.Join(got, "; ") != want {
		t.Errorf("steps %q, want %q", got, want)
	}
}

// A request names each of its faults; one at the limits has none.
func TestRequestsAreChecked(t *testing.T) {
	pairs := func(n int) *hostping.Baseline { return &hostping.Baseline{Pairs: make([]hostping.PairBaseline, n)} }
	for _, r := range []order.Request{
		{Mode: order.Full, DurationSeconds: 24 * 3600, Reason: strings.Repeat("r", 1024), RNIC: strings.Repeat("m", 1024), Baseline: pairs(4096)},
		{Mode: order.Affinitive, DurationSeconds: .1, Baseline: pairs(1)}, {Mode: order.Baseline, DurationSeconds: 1},
	} {
		if err := r.Check(); err != nil {
			t.Error(err)
		}
	}
	for says, r := range map[string]order.Request{
		`mode "half"`: {Mode: "half"}, "duration_seconds 0:": {}, "duration_seconds 86400.5:": {DurationSeconds: 86400.5}, "duration_seconds NaN:": {DurationSeconds: math.NaN()},
		"reason of 1025 bytes": {Reason: strings.Repeat("r", 1025)}, "rnic of 1025 bytes": {RNIC: strings.Repeat("m", 1025)}, "want 1 to 4096 pairs": {Baseline: pairs(0)}, "baseline: want 1": {Baseline: pairs(4097)},
	} {
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), "hostping request: ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
