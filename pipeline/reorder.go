package pipeline

import (
	"container/heap"
	"math"
	"slices"
	"strings"

	"github.com/giverny/giverny/schema"
)

// reorder is a k-slack buffer: it holds batches until one that is newer by the
// slack has come, and gives them out in order of time. Without slack it is not in
// use.
type reorder struct {
	slackNanos int64
	newest     int64
	held       heldBatches
	bytes      int
	arrived    int // batches, to keep the order of those of one instant
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
	own, bytes := cloneBatch(b)
	r.newest = max(r.newest, slices.Max(b.TimeNanos))
	r.arrived++
	r.bytes += bytes
	heap.Push(&r.held, heldBatch{own, slices.Min(b.TimeNanos), r.arrived, bytes})
}

// next is the next batch that need not be held any longer, or nil.
func (r *reorder) next() *schema.CounterBatch {
	if len(r.held) == 0 || r.bytes <= reorderBytes && r.newest-r.held[0].oldest < r.slackNanos {
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

// cloneBatch is a batch with memory of its own, and about how much that is.
func cloneBatch(b *schema.CounterBatch) (own *schema.CounterBatch, bytes int) {
	c := *b
	c.Fabric, c.Source, c.Agent = strings.Clone(b.Fabric), strings.Clone(b.Source), strings.Clone(b.Agent)
	c.Ports = make([]schema.PortName, len(b.Ports))
	for i, p := range b.Ports {
		c.Ports[i] = schema.PortName{Device: strings.Clone(p.Device), Port: strings.Clone(p.Port)}
		bytes += 32 + len(p.Device) + len(p.Port)
	}
	c.TimeNanos, c.PortIndex = slices.Clone(b.TimeNanos), slices.Clone(b.PortIndex)
	c.Columns = make([]schema.CounterColumn, len(b.Columns))
	for i, col := range b.Columns {
		c.Columns[i] = schema.CounterColumn{Name: strings.Clone(col.Name), Values: slices.Clone(col.Values), Valid: slices.Clone(col.Valid)}
		bytes += 8*len(col.Values) + 8*len(col.Valid)
	}
	return &c, bytes + 12*b.Rows()
}
