package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/giverny/giverny/ingest/envelope"
)

// LastRecord returns the newest record of a partition, without a payload if there is
// none. It does not retry; the caller does.
func (c *Client) LastRecord(ctx context.Context, kind envelope.Kind, partition int) (last Message, err error) {
	reader := &Consumer{client: c, assigned: Assignment{Kind: kind, Partition: partition, Tail: true}, topic: c.config.Topic(kind)} // a reader for one record, without metrics
	first, err := reader.listOffset(ctx, kafkago.FirstOffset)
	if err != nil {
		return last, fmt.Errorf("newest record of %s: %w", reader.name(), err)
	}
	end, err := reader.listOffset(ctx, kafkago.LastOffset)
	if err != nil || end <= first {
		return last, err
	}
	response, err := c.kafka.Fetch(ctx, &kafkago.FetchRequest{Topic: reader.topic, Partition: partition, Offset: end - 1,
		MinBytes: 1, MaxBytes: int64(c.config.Consumer.MaxFetchBytes), MaxWait: c.config.Consumer.MaxWait})
	if err == nil {
		err = response.Error
	}
	if err != nil {
		return last, fmt.Errorf("newest record of %s: %w", reader.name(), err)
	}
	for {
		m, err := reader.read(response.Records)
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return last, err
		}
		if m.Offset == end-1 {
			return m.Message, nil
		}
	}
}
