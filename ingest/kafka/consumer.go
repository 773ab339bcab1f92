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

// Assignment says what a consumer reads.
type Assignment struct {
	Kind      envelope.Kind
	Fabric    string // every record's key; empty: any key
	Partition int
	// Tail is a reader without a group: it commits nothing and starts every run at now minus Lookback, so any
	// number of processes can read one partition in parallel. It drops and counts unreadable records instead
	// of dead-lettering them, since every tail of the partition reads them.
	Tail     bool
	Lookback time.Duration // of a tail, by the topic's timestamps
	Fence    Fence         // provides the member for commits of offsets; nil: commit as no member
}

// Message is a record read from Kafka.
type Message struct {
	Topic     string
	Partition int
	Offset    int64
	Time      time.Time // when it was produced, by the producer's clock
	Appended  time.Time // when the broker appended it, by the broker's clock; zero if the topic does not say
	Sent      time.Time // when the try that delivered it began, by the producer's clock; zero if the producer does not say
	Fabric    string
	Payload   []byte // valid until the handler returns
}

// Rejection is returned by a handler for a record that no retry can make readable: the consumer sends it
// to the dead-letter topic and continues. An error of package envelope has the same effect.
type Rejection struct{ Err error }

func (r *Rejection) Error() string { return "rejected: " + r.Err.Error() }
func (r *Rejection) Unwrap() error { return r.Err }

// Consumer reads one partition in order, from the last committed offset or, as a tail, from now minus Lookback.
type Consumer struct {
	client   *Client
	producer *Producer // for dead letters; nil for a tail
	assigned Assignment
	topic    string
	log      *slog.Logger
	metrics  consumerMetrics
	payload  []byte
	appended appendTimes               // of the current response
	readUpTo atomic.Int64              // ns since 1970; see ReadUpTo
	answered atomic.Pointer[time.Time] // time of the last response or, if none was pending, of the next request; nil before the first
	waiting  atomic.Bool               // a fetch is pending
	received atomic.Int64              // ns since 1970: when a record last arrived, or the consumer was created
	reached  atomic.Int64              // offset of the next record
	refusal  refusalCheck              // of Refusal

	mu      sync.Mutex
	offsets offsets // guarded by mu
	unsent  int64   // guarded by mu; offset of the first of letters, -1 if there are none
	held    int64   // guarded by mu; what to commit once they are sent, -1 if nothing

	letters     []letter // dead letters of the current response that are not sent yet
	letterBytes int      // of their payloads

	committing sync.Mutex // serialises commits, so that they cannot overtake each other
	committed  int64      // guarded by committing; the offset that the broker has
	beginAt    time.Time  // guarded by committing; see BeginAt
}

type consumerMetrics struct {
	consumed, consumedBytes prometheus.Counter
	lag, offset, reachable  prometheus.Gauge
	committed               prometheus.Gauge // nil for a tail
}

// NewConsumer returns a consumer; producer sends its dead letters and may be nil for a tail.
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
	c.unsent, c.held = noOffset, noOffset
	c.received.Store(time.Now().UnixNano())
	c.metrics.lag.Set(math.NaN()) // not known yet
	if assigned.Fence != nil {
		c.metrics.reachable.Set(math.NaN()) // it does not fetch before this process owns the partition
	}
	if !assigned.Tail {
		c.metrics.committed = m.committed.WithLabelValues(topic, assigned.Fabric)
	}
	return c
}

// ReadUpTo returns an instant before which all records produced have been
// passed to the handler; the year 1970 until that is known. During an outage it
// does not advance.
func (c *Consumer) ReadUpTo() time.Time { return time.Unix(0, c.readUpTo.Load()) }

// Answered returns since when a response from the broker has been pending, by this host's clock; now if none is,
// however long the handler takes; the year 1970 if there never was a response. Setting the clock does not affect the
// duration.
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

// BeginAt makes the consumer start no later than at the first record appended at or after an instant, even if
// later offsets are committed. It is valid until the next commit, and must be called before Run.
func (c *Consumer) BeginAt(at time.Time) {
	c.committing.Lock()
	defer c.committing.Unlock()
	c.beginAt = at
}

// Run passes records to handle until ctx ends, and then returns nil. It survives restarts of brokers. It
// returns an error of the handler, except a *Rejection and errors of package envelope. Only one Run may be
// active at a time.
func (c *Consumer) Run(ctx context.Context, handle func(context.Context, Message) error) error {
	c.waiting.Store(true)
	next, err := c.start(ctx)
	if err != nil {
		return nilOnCancel(ctx, err)
	}
	defer c.rest()
	c.forgetLetters()
	c.reached.Store(next)
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

// rest resets the metrics of a partition that is no longer read.
func (c *Consumer) rest() {
	if c.assigned.Fence != nil {
		c.metrics.lag.Set(math.NaN())
		c.metrics.reachable.Set(math.NaN())
	}
}

// handOn passes the records of one response to the handler, and then sends their dead letters.
func (c *Consumer) handOn(ctx context.Context, f *fetcher, records kafkago.RecordReader, handle func(context.Context, Message) error) error {
	for ctx.Err() == nil {
		m, err := c.read(records)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			f.failed(ctx, err)
			break
		}
		if !f.accept(m.Offset) {
			continue
		}
		if err := c.process(ctx, m, handle); err != nil {
			return err
		}
		f.advance(m.Offset + 1)
	}
	return c.sendLetters(ctx)
}

// nilOnCancel returns nil if ctx has ended, else err.
func nilOnCancel(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// read returns the next record of a response; its payload is in the consumer's buffer.
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

// inbound is a message with the headers, which only the consumer uses.
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

// process passes one record to the handler, or to the dead-letter topic.
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
		reason, err = letterWrongFabric, fmt.Errorf("for fabric %q, want %q", m.Fabric, c.assigned.Fabric)
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
