package kafka_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
			rejects := p.rejectEvents(c.code, c.payload)
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

// However many records of a topic are blocked, and although they alone could fill the queue in memory, those of another
// topic pass, through the spool too; all arrive, each topic's in order. The spool may be that of an earlier version, in
// which they all were in one queue.
func TestManyBlockedRecordsKeepNoneWaiting(t *testing.T) {
	const blocked, others = 2000, 40
	for _, earlier := range []bool{false, true} {
		t.Run(fmt.Sprintf("earlier version %v", earlier), func(t *testing.T) {
			config := testConfig()
			config.Producer.SpoolAfter = 200 * time.Millisecond
			config.Producer.MaxMessageBytes, config.Producer.MaxQueuedBytes = 64<<10, 64<<10
			p := newPeer(t, startEmbedded(t, config, embedded.DefaultConfig()))
			p.topics(t, 1)
			rejects := p.rejectEvents(kafkago.TopicAuthorizationFailed, "f-")
			var events, jobs []kafka.Record
			for i := range blocked {
				r := event("f", 0, i)
				r.Payload = fmt.Appendf(nil, "%s %0500d", r.Payload, 0)
				events = append(events, r)
			}
			for i := range others {
				r := event("f", 0, i)
				r.Kind = envelope.Jobs
				jobs = append(jobs, r)
			}
			queue := spool.DefaultConfig()
			queue.Dir = t.TempDir()
			if earlier {
				oneQueue(t, queue, slices.Concat(events, jobs))
			}
			a := startAgent(t, p, queue)
			defer a.stop(t)
			if !earlier {
				for _, r := range slices.Concat(events, jobs) {
					if err := a.producer.Produce(p.ctx, r); err != nil {
						t.Fatal(err)
					}
				}
			}
			wantPayloads(t, p.read(t, kafka.Assignment{Kind: envelope.Jobs, Fabric: "f"}, others), payloads(jobs)...)
			waitFor(t, "the blocked records alone to wait", func() bool { return a.spool.Len() == blocked })
			rejects.Store(false)
			waitFor(t, "an empty spool", func() bool { return a.spool.Len() == 0 && a.producer.Ready(p.ctx) == nil })
			wantPayloads(t, p.read(t, eventsOf("f", 0), blocked), payloads(events)...)
		})
	}
}

// oneQueue writes records to a spool as versions did that had a single queue.
func oneQueue(t *testing.T, config spool.Config, records []kafka.Record) {
	t.Helper()
	s, err := spool.Open(config, prometheus.NewRegistry(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := s.Append("q", kafka.EncodeRecord(r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	paths, _ := filepath.Glob(filepath.Join(config.Dir, "q.queue", "*"))
	for _, path := range paths {
		if err := os.Rename(path, filepath.Join(config.Dir, filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
}

func payloads(records []kafka.Record) (all []string) {
	for _, r := range records {
		all = append(all, string(r.Payload))
	}
	return all
}

// A record that is too large for its topic does not bring those of the topic out of order that are not, and does not send
// them to the disk.
func TestOnlyRecordsTooLargeComeLater(t *testing.T) {
	config := testConfig()
	config.Producer.SpoolAfter = 200 * time.Millisecond
	p := newPeer(t, startEmbedded(t, config, embedded.DefaultConfig()))
	p.topics(t, 1)
	var limit atomic.Int64
	limit.Store(100)
	p.intercept(func(request kafkago.Request) (kafkago.Response, error) {
		r, ok := request.(*produce.Request)
		if !ok || !slices.ContainsFunc(payloadsOf(r), func(s string) bool { return len(s) > int(limit.Load()) }) {
			return nil, nil
		}
		return &produce.Response{Topics: []produce.ResponseTopic{{Topic: r.Topics[0].Topic, Partitions: []produce.ResponsePartition{{ErrorCode: int16(kafkago.MessageSizeTooLarge)}}}}}, nil
	})
	queue := spool.DefaultConfig()
	queue.Dir = t.TempDir()
	a := startAgent(t, p, queue)
	defer func() { a.stop(t) }()
	sizes := map[int]int{0: 1000, 3: 300, 5: 1000, 6: 200}
	var small []string
	for i := range 10 {
		r := event("f", 0, i)
		if n := sizes[i]; n > 0 {
			r.Payload = fmt.Appendf(nil, "%0*d", n, i)
		} else {
			small = append(small, string(r.Payload))
		}
		if err := a.producer.Produce(p.ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	wantPayloads(t, p.read(t, eventsOf("f", 0), len(small)), small...)
	limit.Store(500) // the smaller ones pass behind a larger one
	waitFor(t, "two records", func() bool { return a.spool.Len() == 2 })
	if err := a.producer.Ready(p.ctx); err == nil || !strings.Contains(err.Error(), "raise the topic's max.message.bytes") {
		t.Errorf("ready: %v", err)
	}
	a.stop(t)
	a = startAgent(t, p, queue)
	limit.Store(2000)
	waitFor(t, "an empty spool", func() bool { return a.spool.Len() == 0 && a.producer.Ready(p.ctx) == nil })
	p.read(t, eventsOf("f", 0), 10)
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
	if err := a.spool.Append("later-0", kafka.EncodeRecord(later)); err != nil {
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
