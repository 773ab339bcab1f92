package pipeline

import (
	"math"
	"testing"

	"github.com/giverny/giverny/schema"
)

// A reading with an impossible time does not keep others in the buffer.
func TestTheBufferGivesOutAll(t *testing.T) {
	for _, strange := range []int64{math.MinInt64, -second, 0, epoch} {
		r := reorder{intervalNanos: second, slackNanos: 2 * second}
		for _, nanos := range []int64{epoch, strange, epoch + second, epoch + 5*second} {
			r.add(&schema.CounterBatch{Ports: []schema.PortName{{Device: "a", Port: "1"}}, PortIndex: []uint32{0}, TimeNanos: []int64{nanos}})
		}
		out := 0
		for r.next() != nil {
			out++
		}
		if out != 3 {
			t.Errorf("with a reading of %d, %d batches are out of the buffer before its end, want 3", strange, out)
		}
		for r.flush(); r.next() != nil; {
			out++
		}
		if out != 4 {
			t.Errorf("with a reading of %d, %d of 4 batches come out", strange, out)
		}
	}
}

// The buffer splits a batch whose rows are in several intervals; each row keeps the values of all its columns.
func TestTheBufferSplitsBatches(t *testing.T) {
	r := reorder{intervalNanos: second, slackNanos: second}
	r.add(&schema.CounterBatch{Ports: []schema.PortName{{Device: "a", Port: "1"}}, PortIndex: []uint32{0, 0}, TimeNanos: []int64{epoch + second, epoch},
		Columns: []schema.CounterColumn{{Name: "sent", Values: []uint64{11, 10}}, {Name: "waits", Values: []uint64{21, 20}}}})
	r.flush()
	for i := range uint64(2) {
		b := r.next()
		if b == nil || b.Rows() != 1 || b.TimeNanos[0] != epoch+int64(i)*second || b.Columns[0].Values[0] != 10+i || b.Columns[1].Name != "waits" || b.Columns[1].Values[0] != 20+i {
			t.Errorf("part %d: %+v", i, b)
		}
	}
}

// A buffer that holds more than its limit gives out the oldest batches, however large its slack; empty, it holds nothing.
func TestTheBufferIsBounded(t *testing.T) {
	r := reorder{intervalNanos: second, slackNanos: holdAll}
	for _, nanos := range []int64{epoch + second, epoch, epoch + 2*second} {
		r.add(&schema.CounterBatch{Ports: []schema.PortName{{Device: "a", Port: "1"}}, PortIndex: []uint32{0}, TimeNanos: []int64{nanos}})
	}
	if b := r.next(); b != nil {
		t.Errorf("within the limit %v is given out", b.TimeNanos)
	}
	r.bytes += reorderBytes // as with larger batches
	if b := r.next(); b == nil || b.TimeNanos[0] != epoch {
		t.Errorf("beyond the limit the oldest is not given out: %+v", b)
	}
	r.bytes -= reorderBytes
	if b := r.next(); b != nil {
		t.Errorf("within the limit again %v is given out", b.TimeNanos)
	}
	for r.flush(); r.next() != nil; {
	}
	if r.bytes != 0 {
		t.Errorf("the empty buffer counts %d bytes", r.bytes)
	}
}
