package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// start looks up the offset to start at and initialises the consumer with it.
func (c *Consumer) start(ctx context.Context) (next int64, err error) {
	err = c.client.retry(ctx, "look up the start offset of "+c.name(), func() error {
		if c.assigned.Tail {
			next, err = c.offsetAt(ctx, time.Now().Add(-c.assigned.Lookback))
			return err
		}
		next, err = c.committedOffset(ctx)
		if err == nil && next < 0 {
			next, err = c.listOffset(ctx, kafkago.FirstOffset)
		}
		if err != nil {
			return err
		}
		next, err = c.rewound(ctx, next)
		return err
	})
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	c.offsets.reset(next)
	c.mu.Unlock()
	c.metrics.offset.Set(float64(next))
	if !c.assigned.Tail {
		c.committing.Lock()
		c.committed = next
		c.committing.Unlock()
		c.metrics.committed.Set(float64(next))
	}
	level := slog.LevelInfo
	if c.assigned.Tail && c.assigned.Lookback == 0 { // it is short-lived
		level = slog.LevelDebug
	}
	c.log.Log(ctx, level, "kafka: reading", "offset", next, "tail", c.assigned.Tail)
	return next, nil
}

// rewound returns next, or the offset that BeginAt requires if that is earlier.
func (c *Consumer) rewound(ctx context.Context, next int64) (int64, error) {
	c.committing.Lock()
	at := c.beginAt
	c.committing.Unlock()
	if at.IsZero() {
		return next, nil
	}
	offset, err := c.offsetAt(ctx, at)
	return min(next, offset), err
}

// HeldSince returns the time of the first record that the log still has, by the broker's clock; now if it has none left,
// and the zero time if the broker has not deleted any yet. Call it before Run.
func (c *Consumer) HeldSince(ctx context.Context) (since time.Time, err error) {
	err = c.client.retry(ctx, "look up the first record of "+c.name(), func() error {
		first, err := c.listOffset(ctx, kafkago.FirstOffset)
		if err != nil || first == 0 {
			return err
		}
		since = time.Now()
		answer, err := c.client.fetch(ctx, c.topic, c.assigned.Partition, first)
		if err != nil {
			return err
		}
		record, err := answer.records.ReadRecord()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		since = record.Time
		if appended := answer.appended.at(record.Offset); !appended.IsZero() {
			since = appended
		}
		return nil
	})
	return since, err
}

func (c *Consumer) name() string { return fmt.Sprintf("%s/%d", c.topic, c.assigned.Partition) }

// committedOffset returns -1 if there is none.
func (c *Consumer) committedOffset(ctx context.Context) (int64, error) {
	response, err := c.client.kafka.OffsetFetch(ctx, &kafkago.OffsetFetchRequest{
		GroupID: c.client.config.Consumer.Group, Topics: map[string][]int{c.topic: {c.assigned.Partition}}})
	if err != nil {
		return 0, err
	}
	if errors.Is(response.Error, kafkago.GroupIdNotFound) { // some brokers return this before the first commit
		return -1, nil
	}
	if response.Error != nil {
		return 0, response.Error
	}
	for _, p := range response.Topics[c.topic] {
		if p.Partition == c.assigned.Partition {
			return p.CommittedOffset, p.Error
		}
	}
	return 0, fmt.Errorf("the response lacks %s", c.name())
}

// listOffset returns the start (kafkago.FirstOffset) or end (kafkago.LastOffset) of the log.
func (c *Consumer) listOffset(ctx context.Context, which int64) (int64, error) {
	response, err := c.client.kafka.ListOffsets(ctx, &kafkago.ListOffsetsRequest{
		Topics: map[string][]kafkago.OffsetRequest{c.topic: {{Partition: c.assigned.Partition, Timestamp: which}}}})
	if err != nil {
		return 0, err
	}
	for _, p := range response.Topics[c.topic] {
		if p.Partition != c.assigned.Partition {
			continue
		}
		if which == kafkago.FirstOffset {
			return p.FirstOffset, p.Error
		}
		return p.LastOffset, p.Error
	}
	return 0, fmt.Errorf("the response lacks %s", c.name())
}

// offsetAt returns the offset of the first record produced at or after an instant, or the log's
// end.
func (c *Consumer) offsetAt(ctx context.Context, at time.Time) (int64, error) {
	end, err := c.listOffset(ctx, kafkago.LastOffset) // first, so that no record produced in between is skipped
	if err != nil {
		return 0, err
	}
	response, err := c.client.kafka.ListOffsets(ctx, &kafkago.ListOffsetsRequest{
		Topics: map[string][]kafkago.OffsetRequest{c.topic: {kafkago.TimeOffsetOf(c.assigned.Partition, at)}}})
	if err != nil {
		return 0, err
	}
	for _, p := range response.Topics[c.topic] {
		if p.Partition != c.assigned.Partition {
			continue
		}
		for offset := range p.Offsets { // one, or -1 if no record is that new
			if offset >= 0 {
				end = offset
			}
		}
		return end, p.Error
	}
	return 0, fmt.Errorf("the response lacks %s", c.name())
}
