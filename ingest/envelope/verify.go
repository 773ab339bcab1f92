package envelope

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"
)

// Arrow sizes its allocations by counts that it reads from the stream's metadata, and a Go program
// cannot recover from running out of memory. So every count is checked here first. The slots and
// numbers are those of Schema.fbs and Message.fbs (Arrow columnar format 1.4).
const (
	maxMessages       = 16 // a schema, its dictionaries, one record batch
	maxMetaKeys       = 32
	maxMetaBytes      = 4 << 10 // a key or value of the schema's metadata
	maxElements       = 1 << 22 // of one column or list
	continuation      = 0xFFFFFFFF
	messageSchema     = 1
	messageDict       = 2
	messageRecords    = 3
	typeInt           = 2
	typeFloat         = 3
	typeUtf8          = 5
	typeList          = 12
	slotMessageType   = 6
	slotMessage       = 8
	slotBodyLength    = 10
	slotSchemaFields  = 6
	slotSchemaMeta    = 8
	slotFieldName     = 4
	slotFieldType     = 8
	slotFieldChildren = 14
	slotFieldMeta     = 16
	slotBatchLength   = 4
	slotBatchNodes    = 6
	slotBatchBuffers  = 8
	slotBatchPacking  = 10
	slotDictBatch     = 6
	nodeBytes         = 16 // length i64, null count i64
	bufferBytes       = 16 // offset i64, length i64
)

// frame is one message of a stream; meta and body are slices of the stream.
type frame struct {
	meta, body *memory.Buffer
}

// frames splits a stream and checks every count that Arrow would trust. Reading a flatbuffer that points
// outside itself panics with an index out of range, which the caller turns into BadArrow.
func frames(stream []byte, into []frame) ([]frame, error) {
	into = into[:0]
	records := 0
	for {
		if len(stream) < 8 || binary.LittleEndian.Uint32(stream) != continuation {
			return into, refuse(BadArrow, "message %d has no valid prefix", len(into))
		}
		metaLen := int64(int32(binary.LittleEndian.Uint32(stream[4:])))
		stream = stream[8:]
		if metaLen == 0 {
			break
		}
		if metaLen < 8 || metaLen > int64(len(stream)) || len(into) == maxMessages {
			return into, refuse(BadArrow, "message %d has metadata of %d bytes, %d are left", len(into), metaLen, len(stream))
		}
		meta := stream[:metaLen:metaLen]
		stream = stream[metaLen:]
		message := root(meta)
		bodyLen := message.GetInt64Slot(slotBodyLength, 0)
		if bodyLen < 0 || bodyLen > int64(len(stream)) {
			return into, refuse(BadArrow, "message %d has a body of %d bytes, %d are left", len(into), bodyLen, len(stream))
		}
		kind := message.GetByteSlot(slotMessageType, 0)
		if err := checkMessage(message, kind, len(into) == 0, bodyLen); err != nil {
			return into, err
		}
		if kind == messageRecords {
			records++
		}
		into = append(into, frame{memory.NewBufferBytes(meta), memory.NewBufferBytes(stream[:bodyLen:bodyLen])})
		stream = stream[bodyLen:]
	}
	if records != 1 || len(stream) != 0 {
		return into, refuse(BadArrow, "%d record batches and %d bytes after the end, want one and none", records, len(stream))
	}
	return into, nil
}

func checkMessage(message flatbuffers.Table, kind byte, first bool, bodyLen int64) error {
	header, ok := child(message, slotMessage)
	if !ok || first != (kind == messageSchema) {
		return refuse(BadArrow, "a message of type %d in the wrong place", kind)
	}
	switch kind {
	case messageSchema:
		return checkSchema(header)
	case messageDict:
		if header, ok = child(header, slotDictBatch); !ok {
			return refuse(BadArrow, "a dictionary without values")
		}
		return checkBatch(header, bodyLen)
	case messageRecords:
		return checkBatch(header, bodyLen)
	}
	return refuse(BadArrow, "a message of type %d", kind)
}

func checkSchema(schema flatbuffers.Table) error {
	fields := count(schema, slotSchemaFields)
	if fields < 1 || fields > maxColumns+3 {
		return refuse(BadSchema, "%d columns, the limit is %d", fields, maxColumns)
	}
	for i := range fields {
		if err := checkField(element(schema, slotSchemaFields, i), true); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	keys := count(schema, slotSchemaMeta)
	if keys > maxMetaKeys {
		return refuse(BadSchema, "%d keys of metadata, the limit is %d", keys, maxMetaKeys)
	}
	for i := range keys {
		pair := element(schema, slotSchemaMeta, i)
		if len(text(pair, 4)) > maxMetaBytes || len(text(pair, 6)) > maxMetaBytes {
			return refuse(BadSchema, "metadata of more than %d bytes", maxMetaBytes)
		}
	}
	return nil
}

func checkField(field flatbuffers.Table, top bool) error {
	children := count(field, slotFieldChildren)
	if name := text(field, slotFieldName); len(name) > MaxNameBytes {
		return refuse(BadSchema, "a name of %d bytes, the limit is %d", len(name), MaxNameBytes)
	}
	if count(field, slotFieldMeta) != 0 {
		return refuse(BadSchema, "a column with metadata of its own")
	}
	switch t := field.GetByteSlot(slotFieldType, 0); {
	case t == typeList && top && children == 1:
		return checkField(element(field, slotFieldChildren, 0), false)
	case (t == typeInt || t == typeFloat || t == typeUtf8) && children == 0:
		return nil
	default:
		return refuse(BadSchema, "Arrow type %d with %d children", t, children)
	}
}

// checkBatch requires the buffers to be in order and disjoint, so that together they are no longer than
// the body.
func checkBatch(batch flatbuffers.Table, bodyLen int64) error {
	if batch.Offset(slotBatchPacking) != 0 {
		return refuse(BadArrow, "a compressed body")
	}
	if n := batch.GetInt64Slot(slotBatchLength, 0); n < 0 || n > MaxRows {
		return refuse(TooLarge, "a batch of %d rows, the limit is %d", n, MaxRows)
	}
	nodes, buffers := count(batch, slotBatchNodes), count(batch, slotBatchBuffers)
	if nodes > 2*(maxColumns+3) || buffers > 6*(maxColumns+3) {
		return refuse(BadArrow, "%d columns in %d buffers", nodes, buffers)
	}
	at := start(batch, slotBatchNodes)
	for range nodes {
		length, nulls := batch.GetInt64(at), batch.GetInt64(at+8)
		if length < 0 || length > maxElements || nulls < 0 || nulls > length {
			return refuse(BadArrow, "a column of %d values, %d of them missing", length, nulls)
		}
		at += nodeBytes
	}
	end := int64(0)
	at = start(batch, slotBatchBuffers)
	for range buffers {
		offset, length := batch.GetInt64(at), batch.GetInt64(at+8)
		if offset < end || length < 0 || length > bodyLen || offset > bodyLen-length {
			return refuse(BadArrow, "a buffer at %d of %d bytes in a body of %d", offset, length, bodyLen)
		}
		end = offset + length
		at += bufferBytes
	}
	return nil
}

// The functions below read a flatbuffer table: the root, a table or union that it points to, the vector
// in a slot.

func root(b []byte) flatbuffers.Table {
	return flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}
}

func child(t flatbuffers.Table, slot flatbuffers.VOffsetT) (flatbuffers.Table, bool) {
	o := t.Offset(slot)
	if o == 0 {
		return t, false
	}
	return flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(t.Pos + flatbuffers.UOffsetT(o))}, true
}

func count(t flatbuffers.Table, slot flatbuffers.VOffsetT) int {
	o := t.Offset(slot)
	if o == 0 {
		return 0
	}
	return t.VectorLen(flatbuffers.UOffsetT(o))
}

func start(t flatbuffers.Table, slot flatbuffers.VOffsetT) flatbuffers.UOffsetT {
	o := t.Offset(slot)
	if o == 0 {
		return 0
	}
	return t.Vector(flatbuffers.UOffsetT(o))
}

func element(t flatbuffers.Table, slot flatbuffers.VOffsetT, i int) flatbuffers.Table {
	return flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(start(t, slot) + flatbuffers.UOffsetT(4*i))}
}

func text(t flatbuffers.Table, slot flatbuffers.VOffsetT) []byte {
	o := t.Offset(slot)
	if o == 0 {
		return nil
	}
	return t.ByteVector(t.Pos + flatbuffers.UOffsetT(o))
}
