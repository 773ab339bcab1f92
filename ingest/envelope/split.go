package envelope

import (
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
)

// MaxKafkaPayload is the maximum length of payloads for Kafka, whose brokers by default accept messages
// of 1 MiB, including the record's overhead.
const MaxKafkaPayload = 512 << 10

// splitRows is the granularity of a split: a word of a bitmap.
const splitRows = 64

// splitter remembers how well batches compress, so that most parts are encoded only once.
type splitter struct {
	part        schema.CounterBatch
	payload     []byte
	bytesPerRow float64 // of the last payload
}

// Split encodes a batch as one payload, or as several of up to maxBytes each, in the order of the rows. The
// parts have the sequence numbers b.Sequence, b.Sequence+1 and so on; it returns the number of parts, by
// which the agent advances its sequence. The payload passed to each is valid until each returns.
func (e *Encoder) Split(b *schema.CounterBatch, maxBytes int, each func(payload []byte) error) (parts int, err error) {
	if err := checkBatchOf(b); err != nil {
		return 0, err
	}
	s := &e.split
	for row := 0; row < b.Rows() || parts == 0; parts++ {
		n := s.guess(b, maxBytes, b.Rows()-row)
		for {
			s.view(b, row, row+n, parts)
			if s.payload, err = e.counters(s.payload[:0], &s.part); err == nil && len(s.payload) <= maxBytes {
				break
			}
			if reason, _ := ReasonOf(err); err != nil && reason != TooLarge {
				return parts, err
			}
			if n <= splitRows {
				return parts, refuse(TooLarge, "%d rows of %d counters do not fit in %d bytes: poll fewer counters per batch",
					n, len(b.Columns), maxBytes)
			}
			n = (n/2 + splitRows - 1) / splitRows * splitRows
		}
		if n > 0 {
			s.bytesPerRow = float64(len(s.payload)) / float64(n)
		}
		if err := each(s.payload); err != nil {
			return parts, err
		}
		row += n
	}
	return parts, nil
}

// guess returns how many of the rows left to put into the next part: a multiple of splitRows, or all.
func (s *splitter) guess(b *schema.CounterBatch, maxBytes, left int) int {
	perRow := s.bytesPerRow
	if perRow == 0 {
		perRow = float64(16 + 8*len(b.Columns)) // assume no compression
	}
	const slack = 0.9 // parts compress differently
	n := int(slack * float64(maxBytes) / perRow)
	if n >= left {
		return left
	}
	return min(left, max(splitRows, n/splitRows*splitRows))
}

// view makes s.part the rows from..to of b; from is a multiple of splitRows.
func (s *splitter) view(b *schema.CounterBatch, from, to, part int) {
	columns := scratch.Slice(s.part.Columns, len(b.Columns))
	s.part = *b
	s.part.Sequence += uint64(part)
	s.part.TimeNanos, s.part.PortIndex = b.TimeNanos[from:to], b.PortIndex[from:to]
	s.part.Columns = columns
	for i, c := range b.Columns {
		c.Values = c.Values[from:to]
		if c.Valid != nil {
			c.Valid = c.Valid[from/splitRows:]
		}
		s.part.Columns[i] = c
	}
}
