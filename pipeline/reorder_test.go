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
