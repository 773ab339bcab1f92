package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// letter is a record for the dead-letter topic.
type letter struct {
	offset  int64
	reason  string
	message message
}

// noOffset is the offset of no record.
const noOffset = -1

// lettersGrace is how long dead letters are still sent after a stop; otherwise the next run reads their records again.
const lettersGrace = time.Second

// deadLetter queues an unchanged record for the dead-letter topic, with the reason. A bulk of them, such as that of all
// agents of a later version, must not cost a round trip each.
func (c *Consumer) deadLetter(ctx context.Context, m inbound, reason string, cause error) error {
	c.log.Warn("kafka: record moved to the dead-letter topic", "offset", m.Offset, "reason", reason, "error", cause)
	if c.letterBytes+len(m.Payload) > c.client.config.Producer.MaxMessageBytes {
		if err := c.sendLetters(ctx); err != nil {
			return err
		}
	}
	c.letters = append(c.letters, letter{m.Offset, reason, message{key: []byte(m.Fabric), value: bytes.Clone(m.Payload), headers: []kafkago.Header{
		{Key: headerKind, Value: []byte(m.kind())},
		{Key: headerReason, Value: []byte(reason)},
		{Key: headerTopic, Value: []byte(m.Topic)},
		{Key: headerPartition, Value: fmt.Append(nil, m.Partition)},
		{Key: headerOffset, Value: fmt.Append(nil, m.Offset)},
	}}})
	c.letterBytes += len(m.Payload) + letterOverhead
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsent = c.letters[0].offset
	return nil
}

// letterOverhead is the size of a dead letter beyond its payload, about.
const letterOverhead = 256

// sendLetters sends the queued dead letters and marks their records as stored.
func (c *Consumer) sendLetters(ctx context.Context) error {
	if len(c.letters) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lettersGrace)
		defer cancel()
	}
	if err := c.send(ctx, c.letters); err != nil {
		return err
	}
	if held := c.forgetLetters(); held != noOffset {
		return c.CommitThrough(ctx, held)
	}
	return nil
}

// forgetLetters empties the queue, and returns what could not be committed because of it.
func (c *Consumer) forgetLetters() (held int64) {
	clear(c.letters)
	c.letters, c.letterBytes = c.letters[:0], 0
	c.mu.Lock()
	defer c.mu.Unlock()
	held, c.unsent, c.held = c.held, noOffset, noOffset
	return held
}

// send sends dead letters in one request, or one by one if that is rejected, to find the one that is.
func (c *Consumer) send(ctx context.Context, letters []letter) error {
	messages, size := make([]message, len(letters)), 0
	for i, l := range letters {
		messages[i] = l.message
		size += len(l.message.value)
	}
	err := c.producer.send(ctx, topicPartition{c.client.config.DeadLetterTopic(), 0}, size, messages, c.producer.queue)
	switch refused, is := errors.AsType[*RefusedError](err); {
	case is && len(letters) > 1:
		for i := range letters {
			if err := c.send(ctx, letters[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	case is:
		c.client.metrics.produceDropped.WithLabelValues(refused.Reason).Inc()
		c.log.Error("kafka: record dropped, the dead-letter topic rejected it too", "offset", letters[0].offset, "error", err)
	case err != nil:
		return fmt.Errorf("dead letters for %s from offset %d: %w", c.name(), letters[0].offset, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range letters {
		c.client.metrics.deadLetters.WithLabelValues(l.reason).Inc()
		c.offsets.store(l.offset)
	}
	return nil
}
