package pipeline

import (
	"container/heap"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
)

// reorder is a k-slack buffer: it holds batches until one that is newer by the
// slack has come, and gives them out in order of time. A batch whose rows lie in
// several intervals goes in parts: as a whole it would close intervals for which
// another one still has rows. Without slack it is not in use.
type reorder struct {
	slackNanos    int64
	intervalNanos int64 // of the fabric
	newest        int64
	held          heldBatches
	bytes         int
	arrived       int // batches, to keep the order of those of one instant
}

// holdAll is a slack that lets nothing out before flush.
const holdAll = math.MaxInt64

// reorderBytes bounds what is held: beyond that the oldest go.
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

// add takes a copy of a batch that has rows.
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

// next is the next batch that need not be held any longer, or nil.
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

// flush ends the use of the buffer: next gives out all that it holds.
func (r *reorder) flush() { r.slackNanos = 0 }

// bytesOf is about how much memory a batch takes.
func bytesOf(b *schema.CounterBatch) (bytes int) {
	for _, p := range b.Ports {
		bytes += 32 + len(p.Device) + len(p.Port)
	}
	for _, col := range b.Columns {
		bytes += 64 + 8*len(col.Values) + 8*len(col.Valid)
	}
	return bytes + 256 + 12*b.Rows()
}
