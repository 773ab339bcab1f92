package kafka_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
	"github.com/segmentio/kafka-go/protocol/offsetfetch"
	"github.com/segmentio/kafka-go/protocol/produce"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/embedded"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/metric"
)

// answers is a fake of the brokers: requests that it does not answer go to the real ones.
type answers struct {
	next   kafkago.RoundTripper
	answer func(request kafkago.Request) (kafkago.Response, error)
}

func (a *answers) RoundTrip(ctx context.Context, addr net.Addr, request kafkago.Request) (kafkago.Response, error) {
	if response, err := kafka.Answered(request, a.answer); response != nil || err != nil {
		return response, err
	}
	return a.next.RoundTrip(ctx, addr, request)
}

func (p *peer) intercept(answer func(request kafkago.Request) (kafkago.Response, error)) {
	raw := kafka.RawClient(p.client)
	raw.Transport = &answers{raw.Transport, answer}
}

// log is a partition of a broker that does what real ones rarely do.
type log struct {
	first, end int64
	missing    map[int64]bool // offsets of lost records
	silent     atomic.Bool    // fetches return nothing
}

func (l *log) answer(request kafkago.Request) (kafkago.Response, error) {
	switch r := request.(type) {
	case *offsetfetch.Request:
		return &offsetfetch.Response{Topics: []offsetfetch.ResponseTopic{{Name: r.Topics[0].Name,
			Partitions: []offsetfetch.ResponsePartition{{CommittedOffset: -1}}}}}, nil
	case *listoffsets.Request:
		p := r.Topics[0].Partitions[0]
		offset := l.end
		if p.Timestamp == kafkago.FirstOffset {
			offset = l.first
		}
		return &listoffsets.Response{Topics: []listoffsets.ResponseTopic{{Topic: r.Topics[0].Topic,
			Partitions: []listoffsets.ResponsePartition{{Offset: offset, Timestamp: p.Timestamp}}}}}, nil
	case *fetch.Request:
		return l.fetch(r), nil
	}
	return nil, errors.New("not expected")
}

func (l *log) fetch(r *fetch.Request) *fetch.Response {
	partition := fetch.ResponsePartition{HighWatermark: l.end}
	from := r.Topics[0].Partitions[0].FetchOffset
	var records []protocol.Record
	for offset := max(0, from-1); offset < l.end && !l.silent.Load(); offset++ { // batches begin earlier
		if offset >= l.first && !l.missing[offset] {
			records = append(records, protocol.Record{Offset: offset, Key: protocol.NewBytes([]byte("f")), Value: protocol.NewBytes([]byte{byte(offset)})})
		}
	}
	if from < l.first || from > l.end {
		partition.ErrorCode = int16(kafkago.OffsetOutOfRange)
	}
	if len(records) == 0 {
		time.Sleep(time.Millisecond)
	}
	partition.RecordSet.Records = protocol.NewRecordReader(records...)
	return &fetch.Response{Topics: []fetch.ResponseTopic{{Topic: r.Topics[0].Topic, Partitions: []fetch.ResponsePartition{partition}}}}
}

// offsetsRead returns the offsets of n records that a consumer reads from a log.
func offsetsRead(t *testing.T, p *peer, n int, handle func(m kafka.Message)) (offsets []int64) {
	t.Helper()
	c := kafka.NewConsumer(p.client, p.producer, eventsOf("f", 0))
	for _, m := range p.readWith(t, c, n, func(_ context.Context, m kafka.Message) error { handle(m); return nil }) {
		offsets = append(offsets, m.Offset)
	}
	return offsets
}

func newLonelyPeer(t *testing.T, l *log) *peer {
	t.Helper()
	noLeaks(t)
	config := testConfig()
	config.Consumer.StallTimeout = 100 * time.Millisecond
	p := newPeer(t, &broker{config: config, dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no broker there") }})
	p.intercept(l.answer)
	return p
}

func TestGapInTheLogIsCounted(t *testing.T) {
	p := newLonelyPeer(t, &log{first: 2, end: 9, missing: map[int64]bool{4: true, 5: true, 7: true}})
	got := offsetsRead(t, p, 4, func(kafka.Message) {})
	if want := []int64{2, 3, 6, 8}; !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
	if lost := metric.Sum(t, p.metrics, "giverny_kafka_lost_records_total", "offset_gap"); lost != 3 {
		t.Errorf("%v records counted as lost, want 3", lost)
	}
}

// A recreated topic starts at zero again.
func TestLogStartsAnew(t *testing.T) {
	l := &log{first: 100, end: 102}
	p := newLonelyPeer(t, l)
	got := offsetsRead(t, p, 5, func(m kafka.Message) {
		if m.Offset == 101 {
			l.first, l.end = 0, 3
		}
	})
	if want := []int64{100, 101, 0, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

func TestStalledFetchOpensNewConnections(t *testing.T) {
	l := &log{end: 2}
	p := newLonelyPeer(t, l)
	reconnects := func() float64 { return metric.Sum(t, p.metrics, "giverny_kafka_reconnects_total", "stalled") }
	// The first response has both, so the stall shows only if the log grows after it.
	if got := offsetsRead(t, p, 2, func(kafka.Message) {}); !slices.Equal(got, []int64{0, 1}) {
		t.Errorf("read %v", got)
	}
	if n := reconnects(); n != 0 {
		t.Errorf("%v reconnects although all records came", n)
	}
	l.silent.Store(true)
	var watching sync.WaitGroup
	watching.Go(func() { // it is silent until new connections are opened
		await.Holds(time.Minute, 10*time.Millisecond, func() bool { return reconnects() > 0 })
		l.silent.Store(false)
	})
	offsetsRead(t, p, 1, func(kafka.Message) {})
	watching.Wait()
	if reconnects() == 0 {
		t.Error("no new connections were opened")
	}
}

// An idle partition is not a stalled one.
func TestIdlePartitionIsLeftAlone(t *testing.T) {
	l := &log{first: 5, end: 5}
	p := newLonelyPeer(t, l)
	ctx, cancel := context.WithTimeout(p.ctx, 400*time.Millisecond)
	defer cancel()
	if err := kafka.NewConsumer(p.client, p.producer, eventsOf("f", 0)).Run(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if n := metric.Sum(t, p.metrics, "giverny_kafka_reconnects_total"); n != 0 {
		t.Errorf("%v reconnects", n)
	}
}

// spoilt flips bits in every response with a marked payload, like a bad disk.
type spoilt struct{ net.Conn }

func (c *spoilt) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if i := bytes.Index(b[:n], []byte("spoil")); i >= 0 {
		b[i] ^= 1
	}
	return n, err
}

func TestDamagedBatchIsSkippedAndCounted(t *testing.T) {
	b := startEmbedded(t, testConfig(), embedded.DefaultConfig())
	damaged := *b
	damaged.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := b.dial(ctx, network, address)
		return &spoilt{conn}, err
	}
	p := newPeer(t, &damaged)
	p.topics(t, 1)
	bad := func(i int) kafka.Record {
		r := event("f", 0, i)
		r.Payload = append(r.Payload, " spoil me"...)
		return r
	}
	p.produce(t, event("f", 0, 0))
	p.produce(t, bad(1), bad(2)) // one batch
	p.produce(t, event("f", 0, 3))
	wantPayloads(t, p.read(t, eventsOf("f", 0), 2), "f-0", "f-3")
	if n := metric.Sum(t, p.metrics, "giverny_kafka_lost_records_total", "corrupt_batch"); n != 2 {
		t.Errorf("%v records counted as lost, want 2", n)
	}
}

func TestProduceGivesUpWithItsContext(t *testing.T) {
	noLeaks(t)
	config := testConfig()
	config.Brokers = []string{"127.0.0.1:1"} // nothing listens there
	config.Producer.SpoolAfter = time.Millisecond
	p := newPeer(t, &broker{config: config})
	ctx, cancel := context.WithTimeout(p.ctx, 300*time.Millisecond)
	defer cancel()
	n, err := p.producer.ProduceBatch(ctx, []kafka.Record{event("f", 0, 0), event("f", 0, 1)})
	if n != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%d records safe: %v", n, err)
	}
	if got := metric.Sum(t, p.metrics, "giverny_kafka_produce_dropped_total", "abandoned"); got != 2 {
		t.Errorf("%v records abandoned, want 2", got)
	}
	if got := metric.Sum(t, p.metrics, "giverny_kafka_queued_bytes"); got != 0 {
		t.Errorf("%v bytes are queued after the end", got)
	}
	if err := p.client.Ping(ctx); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("Ping: %v", err)
	}
	if err := p.producer.Ready(p.ctx); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("Ready: %v, want the reason, not that there is no topic", err)
	}
}

// One record that the broker rejects does not affect the others of its batch.
func TestRefusedRecordInABatch(t *testing.T) {
	b := startEmbedded(t, testConfig(), embedded.DefaultConfig())
	p := newPeer(t, b)
	p.topics(t, 1)
	p.intercept(func(request kafkago.Request) (kafkago.Response, error) {
		r, ok := request.(*produce.Request)
		if !ok || !slices.Contains(payloadsOf(r), "f-2") {
			return nil, nil
		}
		return &produce.Response{Topics: []produce.ResponseTopic{{Topic: r.Topics[0].Topic,
			Partitions: []produce.ResponsePartition{{ErrorCode: int16(kafkago.InvalidRecord)}}}}}, nil
	})
	n, err := p.producer.ProduceBatch(p.ctx, []kafka.Record{event("f", 0, 0), event("f", 0, 1), event("f", 0, 2), event("f", 0, 3)})
	if refused, ok := errors.AsType[*kafka.RefusedError](err); !ok || refused.Reason != "refused" || n != 2 {
		t.Errorf("%d records safe: %v", n, err)
	}
	p.produce(t, event("f", 0, 3))
	wantPayloads(t, p.read(t, eventsOf("f", 0), 3), "f-0", "f-1", "f-3")
	if got := metric.Sum(t, p.metrics, "giverny_kafka_produce_dropped_total", "refused"); got != 1 {
		t.Errorf("%v records dropped, want 1", got)
	}
	if err := p.producer.Produce(p.ctx, kafka.Record{Kind: envelope.Events}); err == nil {
		t.Error("a record of no fabric was taken")
	}
}

// rejectEvents answers with an error to requests that produce an event whose payload begins so, until the result is false.
func (p *peer) rejectEvents(code kafkago.Error, payload string) *atomic.Bool {
	var rejects atomic.Bool
	rejects.Store(true)
	begins := func(s string) bool { return strings.HasPrefix(s, payload) }
	p.intercept(func(request kafkago.Request) (kafkago.Response, error) {
		r, ok := request.(*produce.Request)
		if !ok || !rejects.Load() || !strings.HasSuffix(r.Topics[0].Topic, "events") || !slices.ContainsFunc(payloadsOf(r), begins) {
			return nil, nil
		}
		return &produce.Response{Topics: []produce.ResponseTopic{{Topic: r.Topics[0].Topic, Partitions: []produce.ResponsePartition{{ErrorCode: int16(code)}}}}}, nil
	})
	return &rejects
}

// payloadsOf returns the payloads of a request, and restores what it has read.
func payloadsOf(r *produce.Request) (payloads []string) {
	set := &r.Topics[0].Partitions[0].RecordSet
	var kept []protocol.Record
	for {
		record, err := set.Records.ReadRecord()
		if err != nil {
			break
		}
		value, _ := protocol.ReadAll(record.Value)
		key, _ := protocol.ReadAll(record.Key)
		payloads = append(payloads, string(value))
		kept = append(kept, protocol.Record{Key: protocol.NewBytes(key), Value: protocol.NewBytes(value), Headers: record.Headers})
	}
	set.Records = protocol.NewRecordReader(kept...)
	return payloads
}
