package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/giverny/giverny/internal/retry"
)

// CommitThrough marks every record passed to the handler so far up to and including offset as stored, and commits the
// offset up to which all records are stored; a restart begins there. It is for use during Run, from the handler or
// concurrently with it. For a tail it does nothing.
func (c *Consumer) CommitThrough(ctx context.Context, offset int64) error {
	c.mu.Lock()
	if c.unsent != noOffset && offset >= c.unsent {
		offset, c.held = c.unsent-1, max(c.held, offset)
	}
	c.offsets.storeThrough(offset)
	c.mu.Unlock()
	return c.commit(ctx)
}

func (c *Consumer) commit(ctx context.Context) error {
	if c.assigned.Tail {
		return nil
	}
	c.committing.Lock()
	defer c.committing.Unlock()
	c.mu.Lock()
	offset := c.offsets.committed
	c.mu.Unlock()
	if offset == c.committed {
		return nil
	}
	err := c.client.retry(ctx, fmt.Sprintf("commit offset %d of %s", offset, c.name()), func() error {
		member, err := c.member()
		if err != nil {
			return err
		}
		response, err := c.client.kafka.OffsetCommit(ctx, &kafkago.OffsetCommitRequest{
			GroupID: c.client.config.Consumer.Group, MemberID: member.ID, GenerationID: member.Generation,
			Topics: map[string][]kafkago.OffsetCommit{c.topic: {{Partition: c.assigned.Partition, Offset: offset}}}})
		if err != nil {
			return err
		}
		for _, p := range response.Topics[c.topic] {
			if p.Partition == c.assigned.Partition {
				return p.Error
			}
		}
		return fmt.Errorf("the response lacks %s", c.name())
	})
	if err != nil {
		return err
	}
	c.committed, c.beginAt = offset, time.Time{}
	c.metrics.committed.Set(float64(offset))
	return nil
}

// member returns the group member for the commit of an offset.
func (c *Consumer) member() (Member, error) {
	if c.assigned.Fence == nil {
		return Member{Generation: -1}, nil // the protocol's generation for a non-member
	}
	member, err := c.assigned.Fence()
	if errors.Is(err, ErrFenced) {
		err = retry.Permanent(err)
	}
	return member, err
}

// isCorrupt recognises a response whose first batch fails its checksum; the library has no sentinel
// error for it.
func isCorrupt(err error) bool { return strings.Contains(err.Error(), "crc32 checksum mismatch") }
