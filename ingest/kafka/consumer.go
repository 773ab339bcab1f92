package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kafkago "github.com/segmentio/kafka-go"

	"github.com/giverny/giverny/ingest/envelope"
)

// Assignment is what a consumer reads.
type Assignment struct {
	Kind      envelope.Kind
	Fabric    string // every record's key; empty: any
	Partition int
	// Tail is a reader without a group: it commits nothing and begins every run at now less Lookback, so any
	// number of processes read one partition in parallel. What it cannot read it drops and counts; it
	// is no dead letter, since every tail of the partition meets it.
	Tail     bool
	Lookback time.Duration // of a tail, by the topic's timestamps
	Fence    Fence         // in whose name offsets are committed; nil: in that of no member
}

// Message is a record that came out of Kafka.
type Message struct {
	Topic     string
	Partition int
	Offset    int64
	Time      time.Time // when it was produced, the producer's clock
	Appended  time.Time // when the broker appended it, the broker's clock; zero if the topic does not say
	Sent      time.Time // when the try that brought it in began, the producer's clock; zero if the producer does not say
	Fabric    string
	Payload   []byte // valid until the handler returns
}

// Rejection is what a handler returns for a record that no further try will make readable: the record goes
// to the dead letters and the next one follows. An error of package envelope does the same.
type Rejection struct{ Err error }

func (r *Rejection) Error() string { return "rejected: " + r.Err.Error() }
func (r *Rejection) Unwrap() error { return r.Err }

// Consumer reads one partition in order, from the offset that was committed last or, as a tail, from now on.
type Consumer struct {
	client   *Client
	producer *Producer // of dead letters; nil for a tail
	assigned Assignment
	topic    string
	log      *slog.Logger
	metrics  consumerMetrics
	payload  []byte
	appended appendTimes               // of the answer at hand
	readUpTo atomic.Int64              // ns since 1970; see ReadUpTo
	answered atomic.Pointer[time.Time] // when the broker answered, or was asked after it had; nil if it never did
	waiting  atomic.Bool               // for an answer

	mu      sync.Mutex
	offsets offsets // guarded by mu

	committing sync.Mutex // one commit at a time, so that they do not overtake each other
	committed  int64      // guarded by committing; what the broker has
	beginAt    time.Time  // guarded by committing; see BeginAt
}

type consumerMetrics struct {
	consumed, consumedBytes prometheus.Counter
	lag, offset, reachable  prometheus.Gauge
	committed               prometheus.Gauge // nil for a tail
}

// NewConsumer makes a consumer; producer takes its dead letters and may be nil for a tail.
func NewConsumer(client *Client, producer *Producer, assigned Assignment) *Consumer {
	topic, m := client.config.Topic(assigned.Kind), client.metrics
	c := &Consumer{
		client: client, producer: producer, assigned: assigned, topic: topic,
		log: client.log.With("fabric", assigned.Fabric, "topic", topic, "partition", assigned.Partition),
		metrics: consumerMetrics{
			consumed: m.consumed.WithLabelValues(topic, assigned.Fabric), consumedBytes: m.consumedBytes.WithLabelValues(topic, assigned.Fabric),
			lag: m.lag.WithLabelValues(topic, assigned.Fabric), offset: m.offset.WithLabelValues(topic, assigned.Fabric),
			reachable: m.reachable.WithLabelValues(topic, assigned.Fabric),
		},
	}
	c.metrics.lag.Set(math.NaN()) // not known yet
	if assigned.Fence != nil {
		c.metrics.reachable.Set(math.NaN()) // it is not asked before this process owns the partition
	}
	if !assigned.Tail {
		c.metrics.committed = m.committed.WithLabelValues(topic, assigned.Fabric)
	}
	return c
}

// ReadUpTo is an instant before which nothing was produced that has not been
// handed on; the year 1970 before that is known. During an outage it stands.
func (c *Consumer) ReadUpTo() time.Time { return time.Unix(0, c.readUpTo.Load()) }

// Answered is since when the broker owes an answer, by this host's clock, and now if it owes none, however long
// the handler takes; the year 1970 if it never answered. A clock that is set meanwhile does not change for how long.
func (c *Consumer) Answered() time.Time {
	at := c.answered.Load()
	switch {
	case at == nil:
		return time.Unix(0, 0)
	case !c.waiting.Load():
		return time.Now()
	}
	return *at
}

func (c *Consumer) hasAnswered() {
	now := time.Now()
	c.answered.Store(&now)
}

// BeginAt makes the consumer begin no later than with the first record that was put into the log at or after an
// instant, though later ones are committed. It holds until the next commit, and is to be called before Run.
func (c *Consumer) BeginAt(at time.Time) {
	c.committing.Lock()
	defer c.committing.Unlock()
	c.beginAt = at
}

// Run hands on record after record until ctx ends, and then returns nil. It outlives brokers that restart.
// An error of the handler ends it, except a *Rejection and errors of package envelope. A consumer runs once at
// a time.
func (c *Consumer) Run(ctx context.Context, handle func(context.Context, Message) error) error {
	c.waiting.Store(true)
	next, err := c.start(ctx)
	if err != nil {
		return nilOnCancel(ctx, err)
	}
	defer c.rest()
	f := fetcher{consumer: c, next: next, progress: time.Now(), pauses: c.client.backoff().Pauses()}
	for ctx.Err() == nil {
		records, err := f.fetch(ctx)
		if err != nil {
			return nilOnCancel(ctx, err)
		}
		before := f.next
		if err := c.handOn(ctx, &f, records, handle); err != nil {
			return nilOnCancel(ctx, err)
		}
		if f.next == before {
			f.checkStall(ctx)
		}
	}
	return nil
}

// rest takes back what the metrics say of a partition that is no longer read.
func (c *Consumer) rest() {
	if c.assigned.Fence != nil {
		c.metrics.lag.Set(math.NaN())
		c.metrics.reachable.Set(math.NaN())
	}
}

// handOn takes the records of one answer to the handler.
func (c *Consumer) handOn(ctx context.Context, f *fetcher, records kafkago.RecordReader, handle func(context.Context, Message) error) error {
	for ctx.Err() == nil {
		m, err := c.read(records)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			f.failed(ctx, err)
			return nil
		}
		if !f.accept(m.Offset) {
			continue
		}
		if err := c.process(ctx, m, handle); err != nil {
			return err
		}
		f.advance(m.Offset + 1)
	}
	return nil
}

// nilOnCancel is nil where the end was asked for.
func nilOnCancel(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// read takes the next record out of an answer; its payload is in the consumer's memory.
func (c *Consumer) read(records kafkago.RecordReader) (m inbound, err error) {
	record, err := records.ReadRecord()
	if err != nil {
		return m, err
	}
	m.Message = Message{Topic: c.topic, Partition: c.assigned.Partition, Offset: record.Offset, Time: record.Time}
	if record.Key != nil {
		defer record.Key.Close()
		key, err := kafkago.ReadAll(record.Key)
		if err != nil {
			return m, err
		}
		m.Fabric = string(key)
	}
	m.headers, m.Sent, m.Appended = record.Headers, sentAt(record.Headers), c.appended.at(record.Offset)
	if record.Value != nil {
		defer record.Value.Close()
		n := record.Value.Len()
		if cap(c.payload) < n {
			c.payload = make([]byte, n)
		}
		c.payload = c.payload[:n]
		if _, err := io.ReadFull(record.Value, c.payload); err != nil {
			return m, fmt.Errorf("read the record at offset %d: %w", record.Offset, err)
		}
		m.Payload = c.payload
	}
	return m, nil
}

// inbound is a message with what only the consumer looks at.
type inbound struct {
	Message
	headers []kafkago.Header
}

func (m *inbound) kind() string {
	for _, h := range m.headers {
		if h.Key == headerKind {
			return string(h.Value)
		}
	}
	return ""
}

// process hands one record to the handler, or to the dead letters.
func (c *Consumer) process(ctx context.Context, m inbound, handle func(context.Context, Message) error) error {
	if !c.assigned.Tail {
		c.mu.Lock()
		c.offsets.markPending(m.Offset)
		c.mu.Unlock()
	}
	var reason string
	var err error
	switch kind := m.kind(); {
	case c.assigned.Fabric != "" && m.Fabric != c.assigned.Fabric:
		reason, err = letterWrongFabric, fmt.Errorf("of fabric %q, want %q", m.Fabric, c.assigned.Fabric)
	case kind != "" && kind != c.assigned.Kind.String():
		reason, err = letterWrongKind, fmt.Errorf("of kind %q, want %q", kind, c.assigned.Kind)
	default:
		err = handle(ctx, m.Message)
		reason = rejectionReason(err)
	}
	if err != nil && reason == "" {
		return fmt.Errorf("handle %s at offset %d: %w", c.name(), m.Offset, err)
	}
	if err != nil && c.assigned.Tail {
		c.log.Warn("kafka: record dropped", "offset", m.Offset, "reason", reason, "error", err)
		c.client.metrics.tailDropped.WithLabelValues(reason).Inc()
	} else if err != nil {
		if err := c.deadLetter(ctx, m, reason, err); err != nil {
			return err
		}
	}
	c.metrics.consumed.Inc()
	c.metrics.consumedBytes.Add(float64(len(m.Payload)))
	return nil
}

func rejectionReason(err error) string {
	if reason, ok := envelope.ReasonOf(err); ok {
		return string(reason)
	}
	if _, ok := errors.AsType[*Rejection](err); ok {
		return letterRejected
	}
	return ""
}

// deadLetter puts a record into the dead letters, as it came and with the reason, and then counts it as stored.
func (c *Consumer) deadLetter(ctx context.Context, m inbound, reason string, cause error) error {
	c.log.Warn("kafka: record dropped to the dead letters", "offset", m.Offset, "reason", reason, "error", cause)
	letter := message{key: []byte(m.Fabric), value: append([]byte{}, m.Payload...), headers: []kafkago.Header{
		{Key: headerKind, Value: []byte(m.kind())},
		{Key: headerReason, Value: []byte(reason)},
		{Key: headerTopic, Value: []byte(m.Topic)},
		{Key: headerPartition, Value: fmt.Append(nil, m.Partition)},
		{Key: headerOffset, Value: fmt.Append(nil, m.Offset)},
	}}
	topic := c.client.config.DeadLetterTopic()
	err := c.producer.send(ctx, topicPartition{topic, 0}, len(letter.value), []message{letter})
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		c.client.metrics.produceDropped.WithLabelValues(refused.Reason).Inc()
		c.log.Error("kafka: record dropped, the dead letters refuse it too", "offset", m.Offset, "error", err)
	} else if err != nil {
		return fmt.Errorf("dead letter for %s at offset %d: %w", c.name(), m.Offset, err)
	}
	c.client.metrics.deadLetters.WithLabelValues(reason).Inc()
	c.mu.Lock()
	c.offsets.store(m.Offset)
	c.mu.Unlock()
	return nil
}

// Commit says that the results of the records at these offsets are stored, in any order. What is stored
// without a gap from the last commit on is committed; a restart begins after that. It is for use during Run,
// from the handler or concurrently with it. A tail has nothing to commit.
func (c *Consumer) Commit(ctx context.Context, stored ...int64) error {
	c.mu.Lock()
	for _, offset := range stored {
		c.offsets.store(offset)
	}
	c.mu.Unlock()
	return c.commit(ctx)
}
