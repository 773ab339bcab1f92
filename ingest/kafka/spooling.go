package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/spool"
)

// SpoolingProducer is a Producer that accepts records while Kafka is unavailable: they wait in a Spool and
// are sent in order when it is back. While the spool is empty nothing touches the disk. Each partition of a topic has a
// queue of its own, and one more for records that are too large for the topic, so that none waits for another.
type SpoolingProducer struct {
	producer *Producer
	spool    *spool.Spool
	patience time.Duration
	wake     chan struct{}         // receives after a record went to the spool
	tooLarge atomic.Pointer[error] // why a record in the spool cannot be sent; nil if none is known to be too large
}

// Limits of what is taken from a queue of the spool at a time.
const (
	drainRecords = 512
	drainBytes   = 512 << 10
)

// NewSpoolingProducer adds a spool to a producer. patience is how long a record waits for Kafka before it
// goes to the spool, more than zero and at most producer.spool_after.
func NewSpoolingProducer(producer *Producer, queue *spool.Spool, patience time.Duration) (*SpoolingProducer, error) {
	config := producer.client.config
	if patience <= 0 {
		return nil, fmt.Errorf("kafka: patience of %v; want more than 0", patience)
	}
	if err := CheckSpool(config, queue.Config()); err != nil {
		return nil, err
	}
	if err := queue.Distribute(queueOfEncoded); err != nil {
		producer.client.log.Error("spool: records of an earlier version stay in one queue", "error", err)
	}
	return &SpoolingProducer{producer: producer, spool: queue, patience: min(patience, config.Producer.SpoolAfter), wake: make(chan struct{}, 1)}, nil
}

// CheckSpool checks that every record of a producer fits in a spool.
func CheckSpool(config Config, queue spool.Config) error {
	if need := int64(config.Producer.MaxMessageBytes + spooledOverhead); queue.MaxRecordBytes() < need {
		return fmt.Errorf("spool.max_bytes: %d holds records of up to %d bytes, but kafka.producer.max_message_bytes is %d; raise the former or lower the latter",
			queue.MaxBytes, queue.MaxRecordBytes(), need)
	}
	return nil
}

// spooledOverhead is the most that encodeRecord adds to a payload.
const spooledOverhead = 7 + envelope.MaxNameBytes + handoverBytes

// Produce returns nil once the record is in Kafka or in the spool. Records of one caller stay in order. If
// ctx ends the record still goes to the spool, and so does one that is too large for the brokers' limit, which can be
// raised. An error is a *RefusedError or a disk error; both are counted, and the record is lost.
func (s *SpoolingProducer) Produce(ctx context.Context, r Record) error {
	if err := s.producer.check(s.producer.client.config.Topic(r.Kind), &r); err != nil {
		return s.refused(err)
	}
	r.taken = s.producer.clocks.take()
	queue := queueOf(r)
	if s.spool.LenOf(queue) == 0 {
		direct, cancel := context.WithTimeout(ctx, s.patience)
		_, err := s.producer.produce(direct, []Record{r}, s.producer.queue)
		cancel()
		if _, refused := errors.AsType[*RefusedError](err); err == nil || refused && !tooLargeForBroker(err) {
			return s.refused(err)
		}
		if tooLargeForBroker(err) {
			s.noteTooLarge(err)
			queue += largeSuffix
		}
	}
	if err := s.spool.Append(queue, encodeRecord(r)); err != nil {
		return err
	}
	s.wakeRun()
	return nil
}

func (s *SpoolingProducer) wakeRun() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// refused counts a record that is lost because it was rejected.
func (s *SpoolingProducer) refused(err error) error {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		s.producer.client.metrics.produceDropped.WithLabelValues(refused.Reason).Inc()
	}
	return err
}

// noteTooLarge keeps an error that says that a record is too large for the brokers, and logs the first.
func (s *SpoolingProducer) noteTooLarge(err error) {
	if s.tooLarge.Swap(&err) == nil {
		s.producer.client.log.Warn("spool: record is too large for the topic, it waits in the spool; raise the topic's max.message.bytes", "error", err)
	}
}

// Ready returns which partitions accept no records, and why: the records wait in the spool.
func (s *SpoolingProducer) Ready(ctx context.Context) error {
	faults := []error{s.producer.Ready(ctx)}
	if err := s.tooLarge.Load(); err != nil {
		faults = append(faults, fmt.Errorf("records wait in the spool, raise the topic's max.message.bytes: %w", *err))
	}
	return errors.Join(faults...)
}

// Run sends the records of the spool until ctx ends, each queue on its own. Remaining records stay for the next run.
func (s *SpoolingProducer) Run(ctx context.Context) error {
	var drains errgroup.Group
	ended := make(chan string)
	running := map[string]bool{}
	for ctx.Err() == nil {
		for _, queue := range s.spool.Queues() {
			if running[queue] {
				continue
			}
			running[queue] = true
			drains.Go(func() error {
				s.drain(ctx, queue)
				select {
				case ended <- queue:
				case <-ctx.Done():
				}
				return nil
			})
		}
		select {
		case <-s.wake:
		case queue := <-ended:
			delete(running, queue)
		case <-ctx.Done():
		}
	}
	return drains.Wait()
}

// drain sends the records of a queue until it is empty or ctx ends.
func (s *SpoolingProducer) drain(ctx context.Context, queue string) {
	pauses := s.producer.client.backoff().Pauses()
	for ctx.Err() == nil {
		encoded, first := s.spool.Peek(queue, drainRecords, drainBytes)
		if len(encoded) == 0 {
			break
		}
		done, err := s.send(ctx, encoded)
		if done > 0 {
			pauses.Reset()
		}
		if tooLargeForBroker(err) {
			s.noteTooLarge(err)
			done += s.postpone(queue, encoded[done:])
		}
		s.spool.Remove(queue, first, done)
		if tooLargeForBroker(err) && isLarge(queue) {
			pauses.Wait(ctx)
		}
	}
	if isLarge(queue) && !slices.ContainsFunc(s.spool.Queues(), isLarge) {
		s.tooLarge.Store(nil)
	}
}

// send returns how many of the records, from the first on, are in Kafka or permanently rejected. An error says why the
// next one is not; it is nil if that is to be sent by another call.
func (s *SpoolingProducer) send(ctx context.Context, encoded [][]byte) (done int, err error) {
	records := make([]Record, 0, len(encoded))
	for _, b := range encoded {
		r, err := decodeRecord(b)
		if err != nil {
			if len(records) > 0 {
				break // it is the first one of the next call
			}
			s.drop(spool.DropCorrupt, err)
			return 1, nil
		}
		records = append(records, r)
	}
	done, err = s.producer.produce(ctx, records, nil)
	if refused, ok := errors.AsType[*RefusedError](err); ok && !tooLargeForBroker(err) {
		_ = s.refused(err)
		s.drop(refused.Reason, err)
		return done + 1, nil
	}
	return done, err
}

// postpone moves the first of the records, which is too large for its topic, to the queue of such records, or to the end of
// that if it is there, so that it does not block the others. It returns 1 if the record was moved, and 0 if it blocks none.
// The spool counts it if there is no room.
func (s *SpoolingProducer) postpone(queue string, encoded [][]byte) int {
	large := queueOfEncoded(encoded[0])
	if !isLarge(queue) || s.spool.LenOf(queue) > 1 {
		_ = s.spool.Append(large+largeSuffix, encoded[0])
		s.wakeRun()
		return 1
	}
	return 0
}

// queueOf is the name of the queue for the records of a topic's partition.
func queueOf(r Record) string { return fmt.Sprintf("%s-%d", r.Kind, r.Partition) }

// queueOfEncoded is queueOf for a record in the spool, readable or not.
func queueOfEncoded(b []byte) string {
	r, err := decodeRecord(b)
	if err != nil {
		return "unreadable"
	}
	return queueOf(r)
}

// largeSuffix ends the names of the queues for records that are too large for their topic.
const largeSuffix = "-large"

func isLarge(queue string) bool { return strings.HasSuffix(queue, largeSuffix) }

func (s *SpoolingProducer) drop(reason string, err error) {
	s.spool.CountDropped(reason)
	s.producer.client.log.Error("spool: record dropped", "reason", reason, "error", err)
}

// encodeRecord is the format of a record in the spool: kind u8, partition u32, length of the fabric's name u16,
// the name, the handover (wall i64, run i64, boot u64), the payload. If the kind lacks timedBit the handover is
// omitted, as in older versions.
func encodeRecord(r Record) []byte {
	timed := r.taken != (handover{})
	kind := byte(r.Kind)
	if timed {
		kind |= timedBit
	}
	b := make([]byte, 0, 7+len(r.Fabric)+handoverBytes+len(r.Payload))
	b = append(b, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(r.Partition))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(r.Fabric)))
	b = append(b, r.Fabric...)
	if timed {
		b = binary.LittleEndian.AppendUint64(b, uint64(r.taken.WallNanos))
		b = binary.LittleEndian.AppendUint64(b, uint64(r.taken.RunNanos))
		b = binary.LittleEndian.AppendUint64(b, r.taken.Boot)
	}
	return append(b, r.Payload...)
}

// timedBit in the first byte, beside the kind, announces timestamps of handoverBytes: three integers.
const (
	timedBit      = 0x80
	handoverBytes = 24
)

func decodeRecord(b []byte) (Record, error) {
	if len(b) < 7 {
		return Record{}, fmt.Errorf("spooled record of %d bytes, want at least 7", len(b))
	}
	name := int(binary.LittleEndian.Uint16(b[5:]))
	if len(b) < 7+name {
		return Record{}, fmt.Errorf("spooled record of %d bytes with a name of %d", len(b), name)
	}
	r := Record{Kind: envelope.Kind(b[0] &^ timedBit), Partition: int(binary.LittleEndian.Uint32(b[1:])), Fabric: string(b[7 : 7+name])}
	if !slices.Contains(kinds[:], r.Kind) {
		return Record{}, fmt.Errorf("spooled record of kind %d, which this version does not know", r.Kind)
	}
	rest := b[7+name:]
	if b[0]&timedBit != 0 {
		if len(rest) < handoverBytes {
			return Record{}, fmt.Errorf("spooled record of %d bytes is truncated within its timestamps", len(b))
		}
		r.taken = handover{int64(binary.LittleEndian.Uint64(rest)), int64(binary.LittleEndian.Uint64(rest[8:])), binary.LittleEndian.Uint64(rest[16:])}
		if r.taken == (handover{}) {
			return Record{}, errors.New("spooled record without the timestamps that its header announces")
		}
		rest = rest[handoverBytes:]
	}
	r.Payload = rest
	return r, nil
}
