//go:build integration

package kafka_test

import (
	"errors"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/internal/test/apachekafka"
)

// A topic that was deleted, and a partition whose only replica is on a broker that is down, do not block the records of others;
// theirs arrive once they are back.
func TestAMissingTopicOrLeaderDoesNotBlockOthers(t *testing.T) {
	first := apachekafka.Start(t, apachekafka.Options{})
	second := first.Join()
	config := testConfig()
	config.Brokers = []string{first.Addr()}
	config.Producer.SpoolAfter = time.Second
	events, jobs := config.Topic(envelope.Events), config.Topic(envelope.Jobs)
	p := newPeer(t, &broker{config: config})
	create := func(topic string, replica int) {
		t.Helper()
		answer, err := first.Client().CreateTopics(p.ctx, &kafkago.CreateTopicsRequest{Topics: []kafkago.TopicConfig{{Topic: topic, NumPartitions: -1, ReplicationFactor: -1,
			ReplicaAssignments: []kafkago.ReplicaAssignment{{Partition: 0, Replicas: []int{replica}}}}}})
		if err = errors.Join(err, answer.Errors[topic]); err != nil {
			t.Fatal(err)
		}
	}
	create(events, 2)
	create(jobs, 1)
	queue := spool.DefaultConfig()
	queue.Dir = t.TempDir()
	a := startAgent(t, p, queue)
	defer a.stop(t)
	n := 0
	const blocked = 600
	put := func(times int) {
		t.Helper()
		for range times {
			job := event("f", 0, n)
			job.Kind = envelope.Jobs
			for _, r := range []kafka.Record{event("f", 0, n), job} {
				if err := a.producer.Produce(p.ctx, r); err != nil {
					t.Fatal(err)
				}
			}
			n++
		}
	}
	put(1)
	waitFor(t, "an empty spool", func() bool { return a.spool.Len() == 0 })
	for _, fault := range []struct {
		name        string
		begin, ends func()
	}{
		{"no leader", second.Kill9, second.Restart},
		{"no topic", func() {
			answer, err := first.Client().DeleteTopics(p.ctx, &kafkago.DeleteTopicsRequest{Topics: []string{events}})
			if err = errors.Join(err, answer.Errors[events]); err != nil {
				t.Fatal(err)
			}
		}, func() { create(events, 2) }},
	} {
		fault.begin()
		time.Sleep(6 * time.Second) // until the controller has noticed
		put(blocked)
		began := time.Now()
		waitFor(t, "the jobs to pass, "+fault.name, func() bool { return a.spool.Len() == blocked })
		t.Logf("%s: the jobs passed after %v; %v", fault.name, time.Since(began), a.producer.Ready(p.ctx))
		fault.ends()
		waitFor(t, "an empty spool, "+fault.name, func() bool { return a.spool.Len() == 0 && a.producer.Ready(p.ctx) == nil })
	}
}
