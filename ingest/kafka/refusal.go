package kafka

import (
	"context"
	"fmt"
	"strconv"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
)

// unseenAfter is for how long no record must have arrived before a consumer asks whether the leader has records that it
// may not deliver. That is longer than a healthy cluster needs to replicate one.
const unseenAfter = 1500 * time.Millisecond

// refusalCheck is what a consumer remembers between two calls of Refusal.
type refusalCheck struct {
	at      time.Time // when the leader had records that it had not replicated; zero: it had none
	next    int64     // offset that the consumer had reached then
	minimum int       // min.insync.replicas of the topic, as last read; 0: not known
}

// Refusal returns why the partition accepts no records, although its leader answers, and since when none arrived; "" if
// it accepts them, or if that cannot be determined. Either fewer replicas are in sync than min.insync.replicas, or the
// leader does not know yet that the others are down, or cannot have them removed because no controller answers: then it
// appends records that no consumer can see, because they are not replicated. Only one call may be active at a time.
func (c *Consumer) Refusal(ctx context.Context) (why string, since time.Time) {
	since = time.Unix(0, c.received.Load())
	if why = c.tooFewInSync(ctx); why != "" {
		return why, since
	}
	behind := time.Since(c.ReadUpTo()) > unseenAfter // then the log has records that wait for this consumer, not for replicas
	if behind || time.Since(since) < unseenAfter {
		c.refusal.at = time.Time{}
		return "", since
	}
	return c.notReplicated(ctx), since
}

// tooFewInSync compares the set of in-sync replicas with its minimum. The transport answers from its metadata, which are
// at most MetadataTTL old; the topic's setting is read only while a replica is missing.
func (c *Consumer) tooFewInSync(ctx context.Context) string {
	metadata, err := c.client.kafka.Metadata(ctx, &kafkago.MetadataRequest{Topics: []string{c.topic}})
	if err != nil {
		return ""
	}
	for _, topic := range metadata.Topics {
		for _, p := range topic.Partitions {
			if topic.Name != c.topic || p.ID != c.assigned.Partition || len(p.Isr) >= len(p.Replicas) {
				continue
			}
			if least, err := c.minInSync(ctx); err == nil {
				c.refusal.minimum = least
			}
			if least := min(c.refusal.minimum, len(p.Replicas)); len(p.Isr) < least {
				return fmt.Sprintf("%d of %d replicas of %s/%d are in sync, min.insync.replicas is %d", len(p.Isr), len(p.Replicas), c.topic, p.ID, least)
			}
		}
	}
	return ""
}

func (c *Consumer) minInSync(ctx context.Context) (int, error) {
	const key = "min.insync.replicas"
	answer, err := c.client.kafka.DescribeConfigs(ctx, &kafkago.DescribeConfigsRequest{Resources: []kafkago.DescribeConfigRequestResource{
		{ResourceType: kafkago.ResourceTypeTopic, ResourceName: c.topic, ConfigNames: []string{key}}}})
	if err != nil {
		return 0, err
	}
	for _, r := range answer.Resources {
		for _, entry := range r.ConfigEntries {
			if entry.ConfigName == key {
				return strconv.Atoi(entry.ConfigValue)
			}
		}
	}
	return 0, fmt.Errorf("the response lacks %s of topic %s", key, c.topic)
}

// notReplicated compares the end of the leader's log with what consumers see of it. It takes two calls to find out,
// since a healthy partition has such records for some milliseconds.
func (c *Consumer) notReplicated(ctx context.Context) string {
	next, was := c.reached.Load(), c.refusal
	end, err := c.leaderEnd(ctx)
	if err != nil || end <= next {
		c.refusal.at = time.Time{}
		return ""
	}
	if was.at.IsZero() || was.next != next {
		c.refusal.at, c.refusal.next = time.Now(), next
		return ""
	}
	return fmt.Sprintf("the leader of %s/%d has %d records that the other replicas do not have", c.topic, c.assigned.Partition, end-next)
}

// leaderEnd returns the end of the leader's log, with records that are not replicated yet. A request of no consumer
// but a "debugging replica" gets that.
func (c *Consumer) leaderEnd(ctx context.Context) (int64, error) {
	const debuggingReplica = -2
	answer, err := c.client.kafka.Transport.RoundTrip(ctx, c.client.kafka.Addr, &listoffsets.Request{ReplicaID: debuggingReplica,
		Topics: []listoffsets.RequestTopic{{Topic: c.topic, Partitions: []listoffsets.RequestPartition{
			{Partition: int32(c.assigned.Partition), CurrentLeaderEpoch: -1, Timestamp: kafkago.LastOffset}}}}})
	if err != nil {
		return 0, err
	}
	topics := answer.(*listoffsets.Response).Topics
	if len(topics) != 1 || len(topics[0].Partitions) != 1 {
		return 0, fmt.Errorf("the response lacks %s", c.name())
	}
	p := &topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		return 0, kafkago.Error(p.ErrorCode)
	}
	return p.Offset, nil
}
