package kafka_test

import (
	"fmt"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
)

func testTopics(t *testing.T, b *broker) {
	p := newPeer(t, b)
	p.topics(t, 1)
	p.topics(t, 1)
	p.topics(t, 3)
	p.produce(t, event("third", 2, 0))
	wantPayloads(t, p.read(t, eventsOf("third", 2), 1), "third-0")
	p.topics(t, 2) // never fewer
	p.produce(t, event("third", 2, 1))
	if got := topicSetting(t, p, b.config.Topic(envelope.Counters), "message.timestamp.type"); got != "LogAppendTime" {
		t.Errorf("the counters' timestamps are %s", got)
	}
	// External brokers keep records for a time and without a size limit; the embedded one has a size
	// limit.
	for key, want := range map[string]string{"retention.ms": "86400000", "retention.bytes": fmt.Sprint(b.config.RetentionBytes)} {
		if got := topicSetting(t, p, b.config.Topic(envelope.Counters), key); got != want {
			t.Errorf("%s of the topic is %s, want %s", key, got, want)
		}
	}
}

// testTimes compares the times of a record: of the producer, and of a broker that appends it later.
func testTimes(t *testing.T, b *broker) {
	p := newPeer(t, b)
	p.topics(t, 1)
	counters := kafka.Record{Fabric: "f", Kind: envelope.Counters, Payload: []byte("x")}
	before := time.Now().Truncate(time.Millisecond)
	p.produce(t, counters, counters)
	p.produce(t, counters)
	other := kafkago.Record{Key: kafkago.NewBytes([]byte("f")), Value: kafkago.NewBytes([]byte("old")), Time: before.Add(-time.Hour)}
	produceRaw(t, p, b.config.Topic(envelope.Counters), other)
	after := time.Now()
	got := p.read(t, kafka.Assignment{Kind: envelope.Counters, Fabric: "f"}, 4)
	for i, m := range got {
		if within := func(at time.Time) bool { return !at.Before(before) && !at.After(after) }; i < 3 && !within(m.Sent) || b.appendTime && !within(m.Appended) {
			t.Errorf("record %d: sent %v, appended %v, want both between %v and %v", i, m.Sent, m.Appended, before, after)
		}
		if !b.appendTime && !m.Appended.IsZero() {
			t.Errorf("record %d: appended %v, the broker does not know", i, m.Appended)
		}
	}
	if m := got[3]; !m.Sent.IsZero() || !m.Time.Equal(other.Time) {
		t.Errorf("another's record: sent %v, produced %v", m.Sent, m.Time)
	}
}

func topicSetting(t *testing.T, p *peer, topic, key string) string {
	t.Helper()
	answer, err := kafka.RawClient(p.client).DescribeConfigs(p.ctx, &kafkago.DescribeConfigsRequest{Resources: []kafkago.DescribeConfigRequestResource{
		{ResourceType: kafkago.ResourceTypeTopic, ResourceName: topic, ConfigNames: []string{key}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range answer.Resources[0].ConfigEntries {
		if entry.ConfigName == key {
			return entry.ConfigValue
		}
	}
	t.Fatalf("topic %s has no %s", topic, key)
	return ""
}
