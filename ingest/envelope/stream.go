package envelope

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// Encoder encodes payloads. The zero value is ready to use; it reuses its buffers, so that the number of
// allocations does not grow with the rows. It is not safe for concurrent use.
//
// Its methods append one payload to dst and return it, like append.
type Encoder struct {
	arena  arena
	stream streamBuffer
	texts  []textBuilder // scratch, one per column of text
	ports  portEncoder
	split  splitter
}

// Decoder decodes payloads. The zero value is ready to use; it reuses its buffers. It is not safe for
// concurrent use.
type Decoder struct {
	arena  arena
	stream []byte
	frames []frame
	names  interner
	ports  portDecoder
}

type streamBuffer struct{ b []byte }

func (s *streamBuffer) Write(p []byte) (int, error) {
	s.b = append(s.b, p...)
	return len(p), nil
}

// encoderBudget limits what Arrow allocates besides the columns: bitmaps and metadata.
const encoderBudget = 2 * MaxUncompressedBytes

// write appends a payload of one record batch to dst.
func (e *Encoder) write(dst []byte, kind Kind, schema *arrow.Schema, rows int, columns []arrow.Array) (_ []byte, err error) {
	if rows > MaxRows {
		return dst, refuse(TooLarge, "%s of %d rows, the limit is %d", kind, rows, MaxRows)
	}
	e.arena.reset(encoderBudget)
	e.stream.b = e.stream.b[:0]
	record := array.NewRecord(schema, columns, int64(rows))
	defer record.Release()
	w := ipc.NewWriter(&e.stream, ipc.WithSchema(schema), ipc.WithAllocator(&e.arena))
	if err := w.Write(record); err != nil {
		return dst, refuse(BadArrow, "write %s: %v", kind, err)
	}
	if err := w.Close(); err != nil {
		return dst, refuse(BadArrow, "write %s: %v", kind, err)
	}
	return seal(dst, kind, rows, e.stream.b)
}

// read passes the record batch of a payload to use. The record and everything it refers to is valid until
// the decoder's next call. A panic, in Arrow or in flatbuffers, rejects the payload.
func (d *Decoder) read(payload []byte, want Kind, use func(Header, arrow.Record) error) (err error) {
	d.names.bound()
	var h Header
	if h, d.stream, err = unseal(payload, d.stream, want); err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			err = refuse(BadArrow, "%v", r)
		}
	}()
	if d.frames, err = frames(d.stream, d.frames); err != nil {
		return err
	}
	// Every buffer is separate in the stream; each allocation of the arena is rounded up.
	d.arena.reset(2*len(d.stream) + alignment*6*(maxColumns+3))
	r, err := ipc.NewReaderFromMessageReader(&frameReader{rest: d.frames},
		ipc.WithAllocator(&d.arena), ipc.WithEnsureNativeEndian(false))
	if err != nil {
		return refuse(BadArrow, "%v", err)
	}
	defer r.Release()
	if !r.Schema().IsNativeEndian() {
		return refuse(BadSchema, "a big-endian stream")
	}
	record, err := r.Read()
	if err != nil {
		return refuse(BadArrow, "%v", err)
	}
	if record.NumRows() != int64(h.Rows) {
		return refuse(BadRows, "%d rows, the header says %d", record.NumRows(), h.Rows)
	}
	return use(h, record)
}

// frameReader is Arrow's source of messages, from validated frames.
type frameReader struct {
	rest    []frame
	current *ipc.Message
}

func (r *frameReader) Message() (*ipc.Message, error) {
	r.Release()
	if len(r.rest) == 0 {
		return nil, io.EOF
	}
	next := r.rest[0]
	r.rest = r.rest[1:]
	r.current = ipc.NewMessage(next.meta, next.body)
	return r.current, nil
}

func (r *frameReader) Retain() {}

func (r *frameReader) Release() {
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
}

// sameColumns rejects a record whose columns are not the wanted ones.
func sameColumns(got, want *arrow.Schema) error {
	if !got.Equal(want) {
		return refuse(BadSchema, "columns %v, want %v", describe(got), describe(want))
	}
	return nil
}

func describe(s *arrow.Schema) string {
	names := make([]string, min(s.NumFields(), 16))
	for i := range names {
		names[i] = s.Field(i).Name + " " + s.Field(i).Type.String()
	}
	return fmt.Sprintf("%d: %s", s.NumFields(), names)
}
