package kafka

import (
	"log/slog"

	kafkago "github.com/segmentio/kafka-go"
)

// RawClient speaks the protocol for tests, past all our care.
func RawClient(c *Client) *kafkago.Client { return c.kafka }

// OpenSmallSpool is OpenSpool without a lower bound of its size.
func OpenSmallSpool(config SpoolConfig, metrics *Metrics, log *slog.Logger) (*Spool, error) {
	return openSpool(config, metrics, log)
}

// SegmentFile is what a disk can fail.
type SegmentFile = segmentFile

// FailDisk puts a disk of the test's making under a spool.
func (s *Spool) FailDisk(wrap func(SegmentFile, error) (SegmentFile, error)) {
	s.create = func(path string) (segmentFile, error) { return wrap(createSegment(path)) }
}

// EncodeRecord and DecodeRecord are the form of a record in the spool.
var EncodeRecord, DecodeRecord = encodeRecord, decodeRecord

// Offsets is what a consumer knows of what is stored.
type Offsets struct{ o offsets }

func (o *Offsets) Reset(committed int64)     { o.o.reset(committed) }
func (o *Offsets) MarkPending(offset int64)  { o.o.markPending(offset) }
func (o *Offsets) Store(offset int64) bool   { return o.o.store(offset) }
func (o *Offsets) StoreThrough(offset int64) { o.o.storeThrough(offset) }
func (o *Offsets) Committed() int64          { return o.o.committed }
