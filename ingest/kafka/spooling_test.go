package kafka_test

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/produce"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/embedded"
	"github.com/giverny/giverny/ingest/spool"
)

// Records that a broker rejects although it answers wait in the spool and do not block those of other topics. They are a fault
// of readiness, and arrive once the broker accepts them.
func TestRejectedRecordsWaitInTheSpool(t *testing.T) {
	for _, c := range []struct {
		name    string
		code    kafkago.Error
		payload string // of the records that are rejected
		fault   string
	}{
		{"a denied topic", kafkago.TopicAuthorizationFailed, "f-", "giverny.events/0 accepts no records since"},
		{"records too large", kafkago.MessageSizeTooLarge, "f-1", "raise the topic's max.message.bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := testConfig()
			config.Producer.SpoolAfter = 200 * time.Millisecond
			p := newPeer(t, startEmbedded(t, config, embedded.DefaultConfig()))
			p.topics(t, 1)
			var rejects atomic.Bool
			rejects.Store(true)
			p.intercept(func(request kafkago.Request) (kafkago.Response, error) {
				r, ok := request.(*produce.Request)
				if !ok || !rejects.Load() || !strings.HasSuffix(r.Topics[0].Topic, "events") || !slices.ContainsFunc(payloadsOf(r), func(s string) bool { return strings.HasPrefix(s, c.payload) }) {
					return nil, nil
				}
				return &produce.Response{Topics: []produce.ResponseTopic{{Topic: r.Topics[0].Topic, Partitions: []produce.ResponsePartition{{ErrorCode: int16(c.code)}}}}}, nil
			})
			queue := spool.DefaultConfig()
			queue.Dir = t.TempDir()
			a := startAgent(t, p, queue)
			defer a.stop(t)
			job := event("j", 0, 0)
			job.Kind = envelope.Jobs
			for _, r := range []kafka.Record{event("f", 0, 0), event("f", 0, 1), event("f", 0, 2), job} {
				if err := a.producer.Produce(p.ctx, r); err != nil {
					t.Fatal(err)
				}
			}
			wantPayloads(t, p.read(t, kafka.Assignment{Kind: envelope.Jobs, Fabric: "j"}, 1), "j-0")
			waitFor(t, "the fault", func() bool {
				err := a.producer.Ready(p.ctx)
				return err != nil && strings.Contains(err.Error(), c.fault) && !strings.Contains(err.Error(), "jobs")
			})
			if a.spool.Len() == 0 {
				t.Error("nothing waits in the spool")
			}
			rejects.Store(false)
			waitFor(t, "readiness", func() bool { return a.spool.Len() == 0 && a.producer.Ready(p.ctx) == nil })
			var got []string
			for _, m := range p.read(t, eventsOf("f", 0), 3) {
				got = append(got, string(m.Payload))
			}
			slices.Sort(got) // a record that was postponed comes later
			if want := []string{"f-0", "f-1", "f-2"}; !slices.Equal(got, want) {
				t.Errorf("read %q, want %q", got, want)
			}
		})
	}
}

// A record of a kind that only a later version knows is dropped: it has no topic, and keeps those after it waiting.
func TestASpooledRecordOfALaterVersion(t *testing.T) {
	p := newPeer(t, startEmbedded(t, testConfig(), embedded.DefaultConfig()))
	p.topics(t, 1)
	queue := spool.DefaultConfig()
	queue.Dir = t.TempDir()
	a := startAgent(t, p, queue)
	defer a.stop(t)
	later := event("f", 0, 0)
	later.Kind = 77
	if err := a.spool.Append(kafka.EncodeRecord(later)); err != nil {
		t.Fatal(err)
	}
	if err := a.producer.Produce(p.ctx, event("f", 0, 1)); err != nil {
		t.Fatal(err)
	}
	wantPayloads(t, p.read(t, eventsOf("f", 0), 1), "f-1")
	waitFor(t, "an empty spool", func() bool { return a.spool.Len() == 0 })
}

func FuzzSpooledRecord(f *testing.F) {
	f.Add(kafka.EncodeRecord(kafka.Record{Fabric: "f", Partition: 3, Kind: envelope.Counters, Payload: []byte("p")}))
	f.Add([]byte{})
	f.Add(append([]byte{0x81, 0, 0, 0, 0, 1, 0, 'f'}, make([]byte, 25)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := kafka.DecodeRecord(b); err == nil && !bytes.Equal(kafka.EncodeRecord(r), b) {
			t.Errorf("%q becomes %+v and then another", b, r)
		}
	})
}
