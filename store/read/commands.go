package read

import (
	"context"
	"encoding/json"
	"time"

	"github.com/giverny/giverny/schema"
)

// Commands returns the commands to the agents of a fabric that were sent to Kafka
// in a span, in order, including forged ones.
func (m *Model) Commands(ctx context.Context, fabric string, s Span) ([]schema.SeenCommand, error) {
	type row struct {
		ID        string    `ch:"id"`
		Kind      string    `ch:"kind"`
		Principal string    `ch:"principal"`
		Verified  string    `ch:"verified"`
		Targets   []string  `ch:"targets"`
		Arguments string    `ch:"arguments"`
		Issued    time.Time `ch:"issued"`
		Expires   time.Time `ch:"expires"`
		DryRun    bool      `ch:"dry_run"`
		Signature string    `ch:"signature"`
		Seen      time.Time `ch:"seen"`
	}
	found, err := limited[row](ctx, m, "commands", inNanos(fabric, s))
	return convert(found, err, func(r *row) (schema.SeenCommand, error) {
		return schema.SeenCommand{Seen: schema.InstantOf(r.Seen), Verified: r.Verified, Command: schema.Command{ID: r.ID, Fabric: fabric, Kind: r.Kind,
			Targets: r.Targets, Arguments: rawJSON(r.Arguments), Issued: schema.InstantOf(r.Issued), Expires: schema.InstantOf(r.Expires),
			Principal: r.Principal, DryRun: r.DryRun, Signature: []byte(r.Signature)}}, nil
	})
}

// CommandResults returns the results of a command, by agent and time.
func (m *Model) CommandResults(ctx context.Context, fabric, id string) ([]schema.CommandResult, error) {
	type row struct {
		Agent    string    `ch:"agent"`
		Status   string    `ch:"status"`
		Kind     string    `ch:"kind"`
		Number   uint32    `ch:"sequence"`
		Time     time.Time `ch:"time"`
		Reason   string    `ch:"reason"`
		Output   string    `ch:"output"`
		Verified string    `ch:"verified"`
	}
	found, err := lookup[row](ctx, m, "command_results", Args{"fabric": fabric, "id": id})
	return convert(found, err, func(r *row) (schema.CommandResult, error) {
		return schema.CommandResult{CommandID: id, Fabric: fabric, Agent: r.Agent, Time: schema.InstantOf(r.Time),
			Status: schema.CommandStatus(r.Status), Kind: r.Kind, Sequence: r.Number, Reason: r.Reason, Output: rawJSON(r.Output), Verified: r.Verified}, nil
	})
}

// rawJSON returns nil for an empty text.
func rawJSON(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}
