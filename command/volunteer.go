package command

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/schema"
)

// Output is a value as the output of an answer; an error if an answer cannot hold it.
func Output(v any) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err == nil && len(text) > MaxOutputBytes {
		err = fmt.Errorf("command: output of %d bytes: an answer has at most %d", len(text), MaxOutputBytes)
	}
	return text, err
}

// Volunteer sends a result that answers no command: what an agent does by itself is
// audited and stored like what it was asked for. Its id must be one that no command has.
func Volunteer(ctx context.Context, sink Sink, partition int, r *schema.CommandResult) error {
	if err := checkResult(r); err != nil {
		return err
	}
	var encoder envelope.Encoder
	payload, err := encoder.Results(nil, []schema.CommandResult{*r})
	if err != nil {
		return err
	}
	return sink.Produce(ctx, kafka.Record{Fabric: r.Fabric, Partition: partition, Kind: envelope.Results, Payload: payload})
}
