package kafka_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/produce"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/test/metric"
)

// broker is what the suite needs from a Kafka, real or embedded.
type broker struct {
	config kafka.Config
	dial   kafka.Dial // nil: TCP
	stop   func()     // like a crash, where possible
	start  func()     // after stop, with the same data

	appendTime bool // it supports LogAppendTime
}

// conformance is what we require of every broker. start starts one for a subtest.
func conformance(t *testing.T, start func(t *testing.T) *broker) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, *broker)
	}{
		{"order", testOrder},
		{"resume", testResume},
		{"commit has no gaps", testContiguousCommit},
		{"tails", testTails},
		{"records deleted under the reader", testGap},
		{"dead letters", testDeadLetters},
		{"many dead letters", testManyDeadLetters},
		{"long payloads", testLongPayloads},
		{"bombs", testBombs},
		{"topics", testTopics},
		{"times", testTimes},
		{"handler fails", testHandlerFails},
		{"broker owes no answer", testAnswered},
		{"broker restarts", testBrokerRestart},
		{"spool outlives an outage", testSpoolOutage},
		{"connections hang", testHangingConnections},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, start(t)) })
	}
}

func testOrder(t *testing.T, b *broker) {
	p := newPeer(t, b)
	p.topics(t, 2)
	if err := p.client.Ping(p.ctx); err != nil {
		t.Fatal(err)
	}
	const n = 500
	var want [2][]string
	var records []kafka.Record
	for i := range n {
		r := event([]string{"left", "right"}[i%2], i%2, i)
		want[i%2] = append(want[i%2], string(r.Payload))
		records = append(records, r)
	}
	before := time.Now()
	p.produce(t, records[:100]...) // alternating partitions: a request each
	slices.SortStableFunc(records[100:], func(a, b kafka.Record) int { return a.Partition - b.Partition })
	p.produce(t, records[100:]...)
	for i, fabric := range []string{"left", "right"} {
		got := p.read(t, eventsOf(fabric, i), n/2)
		wantPayloads(t, got, want[i]...)
		for j, m := range got {
			if m.Fabric != fabric || m.Partition != i || m.Offset != int64(j) || m.Topic != b.config.Topic(envelope.Events) {
				t.Fatalf("record %d: %+v", j, m)
			}
			if age := time.Since(m.Time); age < 0 || age > time.Since(before)+time.Second {
				t.Fatalf("record %d was produced %v ago", j, age)
			}
		}
	}
	if got := metric.Sum(t, p.metrics, "giverny_kafka_produced_records_total"); got != n {
		t.Errorf("%v records produced, want %d", got, n)
	}
	if got := metric.Sum(t, p.metrics, "giverny_kafka_consumed_records_total"); got < n-2 {
		t.Errorf("%v records consumed, want %d", got, n)
	}
}

func testResume(t *testing.T, b *broker) {
	p := newPeer(t, b)
	p.topics(t, 1)
	last, err := p.client.LastRecord(p.ctx, envelope.Events, 0)
	for tries := 0; err != nil && tries < 100; tries++ { // a partition that was created just now
		time.Sleep(100 * time.Millisecond)
		last, err = p.client.LastRecord(p.ctx, envelope.Events, 0)
	}
	if last.Payload != nil || err != nil {
		t.Errorf("the newest record of an empty partition is %q, %v", last.Payload, err)
	}
	for i := range 10 {
		p.produce(t, event("f", 0, i))
	}
	if last, err := p.client.LastRecord(p.ctx, envelope.Events, 0); string(last.Payload) != "f-9" || last.Time.IsZero() || err != nil {
		t.Errorf("the newest record is %q of %v, %v; want f-9", last.Payload, last.Time, err)
	}
	if n, err := testutil.GatherAndCount(p.metrics, "giverny_kafka_reachable"); n > 0 || err != nil {
		t.Errorf("%d partitions are said to be unreachable that no run reads, %v", n, err)
	}
	c := kafka.NewConsumer(p.client, p.producer, eventsOf("f", 0))
	p.readWith(t, c, 6, func(ctx context.Context, m kafka.Message) error {
		if m.Offset == 3 {
			return c.CommitThrough(ctx, m.Offset)
		}
		return nil
	})
	wantPayloads(t, p.read(t, eventsOf("f", 0), 6), "f-4", "f-5", "f-6", "f-7", "f-8", "f-9")
}

func testContiguousCommit(t *testing.T, b *broker) {
	p := newPeer(t, b)
	p.topics(t, 1)
	for i := range 5 {
		p.produce(t, event("f", 0, i))
	}
	c := kafka.NewConsumer(p.client, p.producer, eventsOf("f", 0))
	p.readWith(t, c, 5, func(ctx context.Context, m kafka.Message) error {
		if m.Offset == 4 {
			return c.CommitThrough(ctx, 1)
		}
		return nil
	})
	wantPayloads(t, p.read(t, eventsOf("f", 0), 3), "f-2", "f-3", "f-4")
	c = kafka.NewConsumer(p.client, p.producer, eventsOf("f", 0))
	p.readWith(t, c, 3, func(ctx context.Context, m kafka.Message) error { return c.CommitThrough(ctx, m.Offset) })
	p.produce(t, event("f", 0, 5))
	wantPayloads(t, p.read(t, eventsOf("f", 0), 1), "f-5")
}

// Many agents read one partition of commands in parallel, beside a consumer of the group.
func testTails(t *testing.T, b *broker) {
	p := newPeer(t, b)
	p.topics(t, 1)
	for i := range 3 { // of an hour ago
		produceRaw(t, p, b.config.Topic(envelope.Events), kafkago.Record{Key: kafkago.NewBytes([]byte("f")), Value: kafkago.NewBytes(event("f", 0, i).Payload), Time: time.Now().Add(-time.Hour)})
	}
	group := kafka.NewConsumer(p.client, p.producer, eventsOf("f", 0))
	p.readWith(t, group, 2, func(ctx context.Context, m kafka.Message) error { return group.CommitThrough(ctx, m.Offset) })

	const agents, commands = 50, 4
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	var mu sync.Mutex
	got := make([][]string, agents)
	complete := func() (n int) {
		mu.Lock()
		defer mu.Unlock()
		for i := range got {
			if len(got[i]) >= commands {
				n++
			}
		}
		return n
	}
	ended := make(chan error, agents)
	tail := func(i int) {
		c := kafka.NewConsumer(p.client, nil, kafka.Assignment{Kind: envelope.Events, Fabric: "f", Tail: true, Lookback: 30 * time.Minute})
		go func() {
			ended <- c.Run(ctx, func(ctx context.Context, m kafka.Message) error {
				mu.Lock()
				got[i] = append(got[i], string(m.Payload))
				mu.Unlock()
				return c.CommitThrough(ctx, m.Offset)
			})
		}()
	}
	p.produce(t, event("f", 0, 3))
	for i := range agents / 2 { // these start after the first command, which is within their look-back
		tail(i)
	}
	p.produce(t, event("other", 0, 0)) // each of them drops what it cannot read
	for i := 4; i < 7; i++ {
		p.produce(t, event("f", 0, i))
	}
	for i := agents / 2; i < agents; i++ { // and these after all of them
		tail(i)
	}
	waitFor(t, "every agent's commands", func() bool { return complete() == agents })
	cancel()
	for range agents {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	for i, payloads := range got {
		if want := []string{"f-3", "f-4", "f-5", "f-6"}; !slices.Equal(payloads, want) {
			t.Errorf("agent %d read %v, want %v", i, payloads, want)
		}
	}
	if n := metric.Sum(t, p.metrics, "giverny_kafka_tail_dropped_total", "wrong_fabric"); n != agents {
		t.Errorf("%v records dropped, want one of each of %d agents", n, agents)
	}
	if n := metric.Sum(t, p.metrics, "giverny_kafka_dead_letters_total", "wrong_fabric"); n != 0 {
		t.Errorf("the tails made %v dead letters", n)
	}
	wantPayloads(t, p.read(t, eventsOf("f", 0), 1), "f-2") // the group's offset is unchanged

	// A tail without look-back starts at the end.
	late := kafka.NewConsumer(p.client, nil, kafka.Assignment{Kind: envelope.Events, Fabric: "f", Tail: true})
	read, producing := make(chan struct{}), sync.WaitGroup{}
	producing.Go(func() {
		for { // until it has started
			_ = p.producer.Produce(p.ctx, event("f", 0, 7))
			select {
			case <-read:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	first := p.readWith(t, late, 1, func(context.Context, kafka.Message) error { return nil })
	close(read)
	producing.Wait()
	wantPayloads(t, first, "f-7")
}

func testGap(t *testing.T, b *broker) {
	p := newPeer(t, b)
	p.topics(t, 1)
	for i := range 10 {
		p.produce(t, event("f", 0, i))
	}
	c := kafka.NewConsumer(p.client, p.producer, eventsOf("f", 0))
	p.readWith(t, c, 2, func(ctx context.Context, m kafka.Message) error { return c.CommitThrough(ctx, m.Offset) })
	deleteRecords(t, b, b.config.Topic(envelope.Events), 7)
	wantPayloads(t, p.read(t, eventsOf("f", 0), 3), "f-7", "f-8", "f-9")
	if got := metric.Sum(t, p.metrics, "giverny_kafka_lost_records_total", "offset_out_of_range"); got != 5 {
		t.Errorf("%v records counted as lost, want 5", got)
	}
}

func testDeadLetters(t *testing.T, b *broker) {
	p := newPeer(t, b)
	p.topics(t, 1)
	p.produce(t, event("f", 0, 0), event("other", 0, 1), event("f", 0, 2))
	produceRaw(t, p, b.config.Topic(envelope.Events), kafkago.Record{Key: kafkago.NewBytes([]byte("f")), Value: kafkago.NewBytes([]byte("regions in the wrong topic")),
		Headers: []kafkago.Header{{Key: "kind", Value: []byte("regions")}}})
	p.produce(t, event("f", 0, 4), event("f", 0, 5))
	var d envelope.Decoder
	c := kafka.NewConsumer(p.client, p.producer, eventsOf("f", 0))
	handed := p.readWith(t, c, 4, func(ctx context.Context, m kafka.Message) error {
		switch m.Offset {
		case 2:
			_, err := d.Events(m.Payload, nil)
			return fmt.Errorf("events: %w", err)
		case 4:
			return &kafka.Rejection{Err: errors.New("of no use")}
		}
		return c.CommitThrough(ctx, m.Offset)
	})
	wantPayloads(t, handed, "f-0", "f-2", "f-4", "f-5")

	type letter struct{ fabric, payload, kind, reason, topic, partition, offset string }
	var got []letter
	for _, r := range fetchRaw(t, p, b.config.DeadLetterTopic(), 4) {
		l := letter{fabric: string(readAll(t, r.Key)), payload: string(readAll(t, r.Value))}
		for _, h := range r.Headers {
			if field := map[string]*string{"kind": &l.kind, "reason": &l.reason, "topic": &l.topic, "partition": &l.partition, "offset": &l.offset}[h.Key]; field != nil {
				*field = string(h.Value)
			}
		}
		got = append(got, l)
	}
	topic := b.config.Topic(envelope.Events)
	want := []letter{
		{"other", "other-1", "events", "wrong_fabric", topic, "0", "1"},
		{"f", "f-2", "events", "truncated", topic, "0", "2"},
		{"f", "regions in the wrong topic", "regions", "wrong_kind", topic, "0", "3"},
		{"f", "f-4", "events", "rejected", topic, "0", "4"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("dead letters\n%+v\nwant\n%+v", got, want)
	}
	for _, l := range want {
		if n := metric.Sum(t, p.metrics, "giverny_kafka_dead_letters_total", l.reason); n != 1 {
			t.Errorf("%v dead letters for %s, want 1", n, l.reason)
		}
	}
	p.produce(t, event("f", 0, 6))
	wantPayloads(t, p.read(t, eventsOf("f", 0), 1), "f-6") // dead letters count as stored
}

// Agents of a version that this one does not understand send nothing but dead letters, in bulk: they do not hold up the
// records of the others.
func testManyDeadLetters(t *testing.T, b *broker) {
	p := newPeer(t, b)
	p.topics(t, 1)
	const many = 2000
	records := make([]kafka.Record, many+1)
	for i := range records {
		records[i] = event("f", 0, i)
	}
	p.produce(t, records...)
	letters := b.config.DeadLetterTopic()
	requests := 0
	p.intercept(func(request kafkago.Request) (kafkago.Response, error) {
		if r, is := request.(*produce.Request); is && r.Topics[0].Topic == letters {
			requests++
		}
		return nil, nil
	})
	began := time.Now()
	c := kafka.NewConsumer(p.client, p.producer, eventsOf("f", 0))
	p.readWith(t, c, many+1, func(ctx context.Context, m kafka.Message) error {
		if m.Offset < many {
			return &kafka.Rejection{Err: errors.New("of no use")}
		}
		return nil
	})
	t.Logf("%d dead letters in %v, %d requests", many, time.Since(began), requests)
	if requests > many/100 {
		t.Errorf("%d requests for %d dead letters", requests, many)
	}
	if got := fetchRaw(t, p, letters, many); string(readAll(t, got[many-1].Value)) != fmt.Sprintf("f-%d", many-1) {
		t.Errorf("the last dead letter is %q", readAll(t, got[many-1].Value))
	}
}

func testLongPayloads(t *testing.T, b *broker) {
	p := newPeer(t, b)
	p.topics(t, 1)
	limit := b.config.Producer.MaxMessageBytes
	for _, size := range []int{envelope.MaxKafkaPayload, limit} {
		p.produce(t, kafka.Record{Fabric: "f", Kind: envelope.Events, Payload: bytes.Repeat([]byte{7}, size)})
	}
	err := p.producer.Produce(p.ctx, kafka.Record{Fabric: "f", Kind: envelope.Events, Payload: make([]byte, limit+1)})
	if refused, ok := errors.AsType[*kafka.RefusedError](err); !ok || refused.Reason != "too_large" {
		t.Errorf("a payload above the limit: %v", err)
	}
	p.produce(t, event("f", 0, 3), kafka.Record{Fabric: "f", Kind: envelope.Events, Payload: make([]byte, limit)}, event("f", 0, 4))
	got := p.read(t, eventsOf("f", 0), 5)
	if len(got[0].Payload) != envelope.MaxKafkaPayload || len(got[1].Payload) != limit || got[1].Payload[limit-1] != 7 {
		t.Errorf("payloads of %d and %d bytes came back", len(got[0].Payload), len(got[1].Payload))
	}

	// A broker with a lower limit than ours rejects it permanently, and only that one.
	larger := *b
	larger.config.Producer.MaxMessageBytes = 2 << 20
	q := newPeer(t, &larger)
	n, err := q.producer.ProduceBatch(q.ctx, []kafka.Record{event("f", 0, 5), {Fabric: "f", Kind: envelope.Events, Payload: make([]byte, limit+128<<10)}, event("f", 0, 6)})
	if refused, ok := errors.AsType[*kafka.RefusedError](err); !ok || refused.Reason != "too_large" || n != 1 {
		t.Errorf("%d records safe, then %v", n, err)
	}
	if got := metric.Sum(t, q.metrics, "giverny_kafka_produce_dropped_total", "too_large"); got != 1 {
		t.Errorf("%v dropped, want 1", got)
	}
	q.topics(t, 1) // raises the topics' limit, which brokers apply a moment later
	long := kafka.Record{Fabric: "f", Kind: envelope.Events, Payload: make([]byte, limit+128<<10)}
	err = q.producer.Produce(q.ctx, long)
	for tries := 0; err != nil && tries < 100; tries++ {
		time.Sleep(100 * time.Millisecond)
		err = q.producer.Produce(q.ctx, long)
	}
	if err != nil {
		t.Error(err)
	}
}

func testHandlerFails(t *testing.T, b *broker) {
	p := newPeer(t, b)
	p.topics(t, 1)
	p.produce(t, event("f", 0, 0))
	broken := errors.New("store is full")
	err := kafka.NewConsumer(p.client, p.producer, eventsOf("f", 0)).Run(p.ctx, func(context.Context, kafka.Message) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("Run ended with %v, want the handler's error", err)
	}
	wantPayloads(t, p.read(t, eventsOf("f", 0), 1), "f-0") // it was not committed
}

// testAnswered has a slow handler, which does not count as silence of the broker, and then an outage of the broker.
func testAnswered(t *testing.T, b *broker) {
	p := newPeer(t, b)
	p.topics(t, 1)
	p.produce(t, event("f", 0, 0))
	ctx, cancel := context.WithCancel(p.ctx)
	c := kafka.NewConsumer(p.client, p.producer, eventsOf("f", 0))
	if at := c.Answered(); at.UnixNano() != 0 {
		t.Errorf("before it is asked the broker has answered at %v", at)
	}
	handling, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- c.Run(ctx, func(context.Context, kafka.Message) error { close(handling); <-goOn; return nil })
	}()
	<-handling
	began := time.Now()
	time.Sleep(300 * time.Millisecond)
	if at := c.Answered(); at.Before(began.Add(300 * time.Millisecond)) {
		t.Errorf("while the handler works the broker has owed an answer for %v", time.Since(at))
	}
	close(goOn)
	b.stop()
	waitFor(t, "the silence to be known", func() bool { return time.Since(c.Answered()) > time.Second })
	if at := c.Answered(); at == at.Round(0) {
		t.Errorf("silent since %v, without a reading of the monotonic clock: a clock that is set would be a silence", at)
	}
	b.start()
	waitFor(t, "the broker to answer", func() bool { return time.Since(c.Answered()) < time.Second })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
