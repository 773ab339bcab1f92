package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"golang.org/x/sync/semaphore"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/retry"
)

// ProducerConfig applies to all producers of a process.
type ProducerConfig struct {
	// Maximum size of a payload in bytes. Topics are created with additional room for the record's overhead.
	MaxMessageBytes int `yaml:"max_message_bytes"`
	// Bytes that may wait in memory for an acknowledgement; at the limit, senders block.
	MaxQueuedBytes int `yaml:"max_queued_bytes"`
	// How long an agent's record waits for an acknowledgement before it goes to the spool.
	SpoolAfter time.Duration `yaml:"spool_after"`
}

func defaultProducerConfig() ProducerConfig {
	return ProducerConfig{
		MaxMessageBytes: envelope.HeaderBytes + envelope.MaxCompressedBytes,
		MaxQueuedBytes:  64 << 20,
		SpoolAfter:      5 * time.Second,
	}
}

func (c *ProducerConfig) validate() error {
	var f faults.List
	f.Check(c.MaxMessageBytes >= 64<<10 && c.MaxMessageBytes <= 64<<20, "max_message_bytes", "%d: want 64 KiB to 64 MiB", c.MaxMessageBytes)
	f.Check(c.MaxQueuedBytes >= c.MaxMessageBytes, "max_queued_bytes", "%d: want at least max_message_bytes (%d)", c.MaxQueuedBytes, c.MaxMessageBytes)
	f.Check(c.SpoolAfter > 0, "spool_after", "%v: want more than 0", c.SpoolAfter)
	return f.Err()
}

// Record is a payload to send to Kafka.
type Record struct {
	Fabric    string // the record's key
	Partition int    // of the fabric
	Kind      envelope.Kind
	Payload   []byte

	taken handover // zero until a producer has it
}

// Header names of a record.
const (
	headerKind      = "kind"
	headerReason    = "reason" // of a dead letter; below: its origin
	headerTopic     = "topic"
	headerPartition = "partition"
	headerOffset    = "offset"
)

// RefusedError is the error of a record that no retry can deliver. The producer has counted it.
type RefusedError struct {
	Reason string // too_large or refused
	Err    error

	byBroker bool // a setting of the brokers, which can be changed, or this client's
}

// tooLargeForBroker reports whether the brokers' limit, not ours, rejects a record: then it can be delivered once they
// have a higher one.
func tooLargeForBroker(err error) bool {
	refused, ok := errors.AsType[*RefusedError](err)
	return ok && refused.byBroker && refused.Reason == dropTooLarge
}

func (e *RefusedError) Error() string { return "Kafka rejected the record: " + e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

// Producer writes records to the partitions that the caller names. A record counts as produced once all
// in-sync replicas have it. It is safe for concurrent use; records of one caller stay in order.
type Producer struct {
	client *Client
	clocks clocks
	queue  *semaphore.Weighted // bytes

	mu         sync.Mutex
	partitions map[topicPartition]chan struct{} // guarded by mu; the request in flight occupies a slot
	failing    map[topicPartition]failure       // guarded by mu; those whose last request failed
}

// failure is why a partition accepts no records.
type failure struct {
	since time.Time // of the first failed request in a row
	err   error     // of the last one
}

type topicPartition struct {
	topic     string
	partition int
}

// NewProducer returns a producer. It needs no Close.
func NewProducer(client *Client) *Producer {
	return &Producer{
		client:     client,
		clocks:     hostClocks(),
		queue:      semaphore.NewWeighted(int64(client.config.Producer.MaxQueuedBytes)),
		partitions: make(map[topicPartition]chan struct{}),
		failing:    make(map[topicPartition]failure),
	}
}

// SetClock replaces the host's clock as the one for the send times of records. It is for sources of readings
// with their own clock, and must be called before the first record.
func (p *Producer) SetClock(now func() time.Time) { p.clocks.now = now }

// Produce writes one record and returns nil once it is acknowledged. It retries until ctx ends; then the
// record may have arrived nevertheless. A retried record may arrive more than once. A *RefusedError is
// permanent.
func (p *Producer) Produce(ctx context.Context, r Record) error {
	_, err := p.ProduceBatch(ctx, []Record{r})
	return err
}

// ProduceBatch writes records in order, successive ones of one topic and partition in one request. It
// returns how many of them, from the first on, are acknowledged; if not all are, err is the error of the
// next one.
func (p *Producer) ProduceBatch(ctx context.Context, records []Record) (acked int, err error) {
	acked, err = p.produce(ctx, records, p.queue)
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		p.client.metrics.produceDropped.WithLabelValues(refused.Reason).Inc()
	} else if err != nil {
		p.client.metrics.produceDropped.WithLabelValues(dropAbandoned).Add(float64(len(records) - acked))
	}
	return acked, err
}

// produce is ProduceBatch without the counts. queue bounds the bytes that wait; nil: the caller bounds them.
func (p *Producer) produce(ctx context.Context, records []Record, queue *semaphore.Weighted) (acked int, err error) {
	for acked < len(records) {
		n := p.run(records[acked:])
		done, err := p.produceRun(ctx, records[acked:acked+n], queue)
		acked += done
		if err != nil {
			return acked, err
		}
	}
	return acked, nil
}

// run returns how many records from the first on fit in one request.
func (p *Producer) run(records []Record) int {
	const overhead = 64 // per record
	first, size := &records[0], 0
	for i := range records {
		r := &records[i]
		size += len(r.Payload) + len(r.Fabric) + overhead
		if r.Kind != first.Kind || r.Partition != first.Partition || i > 0 && size > p.client.config.Producer.MaxMessageBytes {
			return i
		}
	}
	return len(records)
}

func (p *Producer) produceRun(ctx context.Context, run []Record, queue *semaphore.Weighted) (acked int, err error) {
	topic := p.client.config.Topic(run[0].Kind)
	messages := make([]message, len(run))
	size := 0
	for i := range run {
		r := &run[i]
		if err := p.check(topic, r); err != nil {
			if i == 0 {
				return 0, err
			}
			return p.produceRun(ctx, run[:i], queue) // the long one is first in the caller's next run
		}
		size += len(r.Payload)
		taken := r.taken
		if taken == (handover{}) {
			taken = p.clocks.take()
		}
		messages[i] = message{[]byte(r.Fabric), bytes.Clone(r.Payload), []kafkago.Header{{Key: headerKind, Value: []byte(r.Kind.String())}}, taken}
	}
	err = p.send(ctx, topicPartition{topic, run[0].Partition}, size, messages, queue)
	if err == nil {
		return len(run), nil
	}
	if _, refused := errors.AsType[*RefusedError](err); refused && len(run) > 1 { // retry one by one to find it
		for i := range run {
			if done, err := p.produceRun(ctx, run[i:i+1], queue); done == 0 {
				return i, err
			}
		}
		return len(run), nil
	}
	return 0, fmt.Errorf("produce to %s/%d for fabric %s: %w", topic, run[0].Partition, run[0].Fabric, err)
}

// check rejects records that no broker would accept.
func (p *Producer) check(topic string, r *Record) error {
	var refused *RefusedError
	switch limit := p.client.config.Producer.MaxMessageBytes; {
	case len(r.Payload) > limit:
		refused = &RefusedError{Reason: dropTooLarge, Err: fmt.Errorf("payload of %d bytes, kafka.producer.max_message_bytes is %d; send fewer rows at a time", len(r.Payload), limit)}
	case r.Fabric == "" || len(r.Fabric) > envelope.MaxNameBytes:
		refused = &RefusedError{Reason: dropRefused, Err: fmt.Errorf("fabric's name of %d bytes; want 1 to %d", len(r.Fabric), envelope.MaxNameBytes)}
	default:
		return nil
	}
	return fmt.Errorf("produce to %s/%d for fabric %.40q: %w", topic, r.Partition, r.Fabric, refused)
}

// message is a record as sent to the topic. It owns its bytes: after ctx ends, the transport may
// still be reading them.
type message struct {
	key, value []byte
	headers    []kafkago.Header
	taken      handover
}

// admit waits until bytes fit in a queue.
func (p *Producer) admit(ctx context.Context, queue *semaphore.Weighted, bytes int) (release func(), err error) {
	if queue == nil {
		queue = semaphore.NewWeighted(math.MaxInt64)
	}
	weight := int64(min(bytes, p.client.config.Producer.MaxQueuedBytes))
	if err := queue.Acquire(ctx, weight); err != nil {
		return nil, fmt.Errorf("%d bytes are already waiting for Kafka: %w", p.client.config.Producer.MaxQueuedBytes, err)
	}
	p.client.metrics.queuedBytes.Add(float64(weight))
	return func() {
		queue.Release(weight)
		p.client.metrics.queuedBytes.Sub(float64(weight))
	}, nil
}

// send writes messages to a partition in one request, one request at a time so that retries keep the order.
func (p *Producer) send(ctx context.Context, to topicPartition, size int, messages []message, queue *semaphore.Weighted) error {
	release, err := p.admit(ctx, queue, size)
	if err != nil {
		return err
	}
	defer release()
	slot := p.slot(to)
	select {
	case slot <- struct{}{}:
		defer func() { <-slot }()
	case <-ctx.Done():
		return ctx.Err()
	}
	tries := 1
	err = p.client.backoff().Do(ctx, func() error {
		err := p.try(ctx, to, size, messages)
		p.noteOutcome(to, err)
		if reason := refusal(err); reason != "" {
			return retry.Permanent(&RefusedError{Reason: reason, Err: err, byBroker: true})
		}
		return err
	}, func(err error, failures int, pause time.Duration) {
		tries = failures + 1
		p.client.metrics.produceRetries.WithLabelValues(retryReason(err)).Inc()
		if worthLogging(failures, err) {
			p.client.log.Warn("kafka: record not acknowledged, retrying", "topic", to.topic, "partition", to.partition, "failures", failures, "pause", pause, "error", p.client.cause(ctx, err))
		}
	})
	if _, refused := errors.AsType[*RefusedError](err); err != nil && !refused {
		return fmt.Errorf("not acknowledged after %d tries: %w", tries, err)
	}
	return err
}

// noteOutcome records whether a partition accepts records.
func (p *Producer) noteOutcome(to topicPartition, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch f := p.failing[to]; {
	case err == nil || errors.Is(err, errStale):
		delete(p.failing, to)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded) && f.err != nil: // the caller gave up
	case f.err != nil:
		p.failing[to] = failure{f.since, err}
	default:
		p.failing[to] = failure{time.Now(), err}
	}
}

// Ready returns which partitions have accepted no records for longer than producer.spool_after, and why.
func (p *Producer) Ready(ctx context.Context) error {
	p.mu.Lock()
	failing := maps.Clone(p.failing)
	p.mu.Unlock()
	var faults []error
	for to, f := range failing {
		if time.Since(f.since) > p.client.config.Producer.SpoolAfter {
			faults = append(faults, fmt.Errorf("%s/%d accepts no records since %s: %w", to.topic, to.partition, f.since.UTC().Format(time.RFC3339), p.client.cause(ctx, f.err)))
		}
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(faults...)
}

func (p *Producer) slot(to topicPartition) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	slot, ok := p.partitions[to]
	if !ok {
		slot = make(chan struct{}, 1)
		p.partitions[to] = slot
	}
	return slot
}

// maxTry is the longest duration of a try, and so the maximum of kafka.request_timeout. A longer one, while this
// process or the host was suspended, may have been appended so long after its time stamp that the clock seems to be
// behind: it is retried.
const maxTry = 15 * time.Second

var errStale = errors.New("too long after its timestamp")

func (p *Producer) try(ctx context.Context, to topicPartition, size int, messages []message) error {
	records, start := make([]kafkago.Record, len(messages)), time.Now()
	for i, m := range messages {
		records[i] = kafkago.Record{Key: kafkago.NewBytes(m.key), Value: kafkago.NewBytes(m.value), Headers: stamped(m.headers, p.clocks.sent(m.taken))}
	}
	response, err := p.client.kafka.Produce(ctx, &kafkago.ProduceRequest{
		Topic: to.topic, Partition: to.partition, RequiredAcks: kafkago.RequireAll, Records: kafkago.NewRecordReader(records...),
	})
	if err == nil {
		err = response.Error
	}
	if err != nil {
		return err
	}
	took := time.Since(start)
	if took > maxTry {
		return fmt.Errorf("acknowledged after %v: %w", took, errStale)
	}
	p.client.metrics.produceSeconds.Observe(took.Seconds())
	p.client.metrics.produced.WithLabelValues(to.topic).Add(float64(len(messages)))
	p.client.metrics.producedBytes.WithLabelValues(to.topic).Add(float64(size))
	return nil
}

// refusal returns the reason of a permanent error, or "" for others and for nil.
func refusal(err error) string {
	code, ok := errors.AsType[kafkago.Error](err)
	if !ok {
		return ""
	}
	switch code {
	case kafkago.MessageSizeTooLarge, kafkago.RecordListTooLarge, kafkago.InvalidMessageSize:
		return dropTooLarge
	case kafkago.InvalidRecord, kafkago.InvalidTopic, kafkago.UnsupportedForMessageFormat, kafkago.InvalidTimestamp:
		return dropRefused
	}
	return ""
}
