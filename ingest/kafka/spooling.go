package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/internal/retry"
)

// SpoolingProducer is a Producer that accepts records while Kafka is unavailable: they wait in a Spool and
// are sent in order when it is back. While the spool is empty nothing touches the disk.
type SpoolingProducer struct {
	producer *Producer
	spool    *spool.Spool
	patience time.Duration
	wake     chan struct{}
	tooLarge atomic.Pointer[error] // why a record in the spool cannot be sent; nil if none is known to be too large
	pauses   *retry.Pauses         // between tries of such records
}

// Limits of what is taken from the spool for one request, and of its tries.
const (
	deniedPatience = time.Second // for a topic that denied the last record: enough for one try
	alonePatience  = time.Minute // if only one topic's records wait: those of others that come meanwhile wait as long
	drainRecords   = 512
	drainBytes     = 512 << 10
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
	return &SpoolingProducer{producer: producer, spool: queue, patience: min(patience, config.Producer.SpoolAfter), wake: make(chan struct{}, 1), pauses: producer.client.backoff().Pauses()}, nil
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
	if s.spool.Len() == 0 {
		direct, cancel := context.WithTimeout(ctx, s.patience)
		_, err := s.producer.produce(direct, []Record{r})
		cancel()
		if _, refused := errors.AsType[*RefusedError](err); err == nil || refused && !tooLargeForBroker(err) {
			return s.refused(err)
		}
		s.noteTooLarge(err)
	}
	if err := s.spool.Append(encodeRecord(r)); err != nil {
		return err
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
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
	if !tooLargeForBroker(err) {
		return
	}
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

// Run drains the spool into Kafka until ctx ends. Remaining records stay for the next run.
func (s *SpoolingProducer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		encoded, first := s.spool.Peek(drainRecords, drainBytes)
		if len(encoded) == 0 {
			s.tooLarge.Store(nil)
			select {
			case <-s.wake:
			case <-ctx.Done():
			}
			continue
		}
		s.spool.Remove(first, s.drain(ctx, encoded))
	}
	return nil
}

// drain returns how many of the records, from the first on, are in Kafka or permanently rejected.
func (s *SpoolingProducer) drain(ctx context.Context, encoded [][]byte) int {
	records := make([]Record, 0, len(encoded))
	for _, b := range encoded {
		r, err := decodeRecord(b)
		if err != nil {
			if len(records) > 0 {
				break // it is the first one of the next call
			}
			s.drop(spool.DropCorrupt, err)
			return 1
		}
		records = append(records, r)
	}
	first, patience := s.producer.run(records), alonePatience
	switch {
	case s.producer.deniesTopic(records[0]):
		patience = deniedPatience
	case first < len(records): // others wait behind the first topic's
		patience = s.producer.client.config.Producer.SpoolAfter
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	done, err := s.producer.produce(patient, records)
	cancel()
	if done > 0 {
		s.pauses.Reset()
	}
	switch {
	case tooLargeForBroker(err):
		s.noteTooLarge(err)
		return done + s.postpone(ctx, encoded[done:done+1])
	case done == 0 && err != nil && s.producer.deniesTopic(records[0]):
		if s.producer.anyHasLeader(ctx, records[first:]) {
			return s.postpone(ctx, encoded[:first])
		}
		s.pauses.Wait(ctx)
	}
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		_ = s.refused(err)
		s.drop(refused.Reason, err)
		done++
	}
	return done
}

// postpone moves records to the end of the spool, so that they do not block the others, and pauses if that happens again
// and again. It returns their number. The spool counts those for which there is no room.
func (s *SpoolingProducer) postpone(ctx context.Context, encoded [][]byte) int {
	for _, b := range encoded {
		_ = s.spool.Append(b)
	}
	s.pauses.Wait(ctx)
	return len(encoded)
}

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
