//go:build engine || integration

package read

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
)

func TestCommandsAreStoredOnce(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	const second = schema.Instant(1e9)
	command := func(id string, at schema.Instant) schema.SeenCommand {
		return schema.SeenCommand{Seen: at + 5, Verified: "valid", Command: schema.Command{ID: id, Fabric: "f", Kind: "agents.list", Targets: []string{"gpu-*", "n1"},
			Arguments: json.RawMessage(`{"a":"b"}`), Issued: at, Expires: at + 60*second, Principal: "operator", DryRun: true, Signature: []byte{0, 255, 7}}}
	}
	first, later := command("a", 1e18), command("b", 1e18+10*second)
	forged := command("a", 1e18)
	forged.Signature, forged.Verified, forged.Seen = nil, "bad_signature", 1e18+second
	replayed := first
	replayed.Seen = 1e18 + 20*second
	for _, batch := range [][]schema.SeenCommand{{first, first}, {later, forged, first}, {replayed}, {}} {
		for range 2 {
			if err := m.db.StoreCommands(ctx, "f", batch); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := m.Commands(ctx, "f", Span{From: 1e18, To: 1e18 + 100e9})
	forged.Signature = []byte{}
	if diff := cmp.Diff([]schema.SeenCommand{first, forged, later}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if got, err := m.Commands(ctx, "f", Span{From: 1e18 + 6, To: 1e18 + 10e9}); err != nil || len(got) != 1 || got[0].Verified != "bad_signature" {
		t.Errorf("of a shorter span: %+v, %v", got, err)
	}

	result := func(agent string, status schema.CommandStatus, at schema.Instant) schema.CommandResult {
		return schema.CommandResult{CommandID: "a", Fabric: "f", Agent: agent, Time: at, Status: status}
	}
	accepted, done, other := result("n1", schema.CommandAccepted, 1e18), result("n1", schema.CommandDone, 1e18+1), result("n2", schema.CommandRefused, 1e18)
	done.Output, other.Reason = json.RawMessage(`{"x":1}`), "not allowed"
	done.Verified, other.Verified = schema.Verified, schema.NotVerified
	again := done
	again.Time = 1e18 + 2
	for _, batch := range [][]schema.CommandResult{{accepted, done}, {done, other}, {again}, {}} {
		if err := m.db.StoreCommandResults(ctx, "f", batch); err != nil {
			t.Fatal(err)
		}
	}
	results, err := m.CommandResults(ctx, "f", "a")
	if diff := cmp.Diff([]schema.CommandResult{accepted, done, other}, results); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
