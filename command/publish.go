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

// Publish sends a result that answers no command: what an agent does on its own is
// audited and stored like the answer to a command. Its id must be one that no command has.
func Publish(ctx context.Context, sink Sink, partition int, r *schema.CommandResult) error {
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
