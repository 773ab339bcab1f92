package pipeline

import (
	"container/heap"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
)

// reorder is a k-slack buffer: it holds batches until one arrives that is newer
// by the slack, and emits them in order of time. It splits a batch whose rows
// are in several intervals: as a whole it would close intervals for which
// another batch still has rows. Without slack it is inactive.
type reorder struct {
	slackNanos    int64
	intervalNanos int64 // of the fabric
	newest        int64
	held          heldBatches
	bytes         int
	arrived       int // number of batches, which keeps the order of those of one instant
}

// holdAll is a slack that holds everything until flush.
const holdAll = math.MaxInt64

// reorderBytes limits what is held: beyond it, the oldest batches are emitted.
const reorderBytes = 512 << 20

type heldBatch struct {
	batch   *schema.CounterBatch
	oldest  int64
	arrived int
	bytes   int
}

type heldBatches []heldBatch

func (h heldBatches) Len() int { return len(h) }
func (h heldBatches) Less(i, j int) bool {
	return h[i].oldest < h[j].oldest || h[i].oldest == h[j].oldest && h[i].arrived < h[j].arrived
}
func (h heldBatches) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heldBatches) Push(x any)   { *h = append(*h, x.(heldBatch)) }
func (h *heldBatches) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = heldBatch{}
	*h = (*h)[:last]
	return x
}

func (r *reorder) active() bool { return r.slackNanos > 0 }

// add adds a copy of a batch that has rows.
func (r *reorder) add(b *schema.CounterBatch) {
	r.newest = max(r.newest, slices.Max(b.TimeNanos))
	columns := make([]int, len(b.Columns))
	for i := range columns {
		columns[i] = i
	}
	for _, rows := range b.ByInterval(r.intervalNanos) {
		part := b.Part(rows, columns)
		r.hold(part, slices.Min(part.TimeNanos))
	}
}

func (r *reorder) hold(own *schema.CounterBatch, oldest int64) {
	bytes := bytesOf(own)
	r.arrived++
	r.bytes += bytes
	heap.Push(&r.held, heldBatch{own, oldest, r.arrived, bytes})
}

// next returns the next batch that need no longer be held, or nil.
func (r *reorder) next() *schema.CounterBatch {
	if len(r.held) == 0 || r.bytes <= reorderBytes && r.held[0].oldest > r.newest-r.slackNanos {
		return nil
	}
	return r.pop()
}

func (r *reorder) pop() *schema.CounterBatch {
	h := heap.Pop(&r.held).(heldBatch)
	r.bytes -= h.bytes
	return h.batch
}

// flush deactivates the buffer: next then returns everything it holds.
func (r *reorder) flush() { r.slackNanos = 0 }

// bytesOf estimates the memory of a batch.
func bytesOf(b *schema.CounterBatch) (bytes int) {
	for _, p := range b.Ports {
		bytes += 32 + len(p.Device) + len(p.Port)
	}
	for _, col := range b.Columns {
		bytes += 64 + 8*len(col.Values) + 8*len(col.Valid)
	}
	return bytes + 256 + 12*b.Rows()
}
