package pipeline

import (
	"container/heap"
	"maps"
	"math"
	"slices"
	"strings"

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
	oldest, newest := slices.Min(b.TimeNanos), slices.Max(b.TimeNanos)
	r.newest = max(r.newest, newest)
	if schema.IntervalAt(oldest, r.intervalNanos) == schema.IntervalAt(newest, r.intervalNanos) {
		r.hold(cloneBatch(b), oldest)
		return
	}
	byInterval := map[int64][]int{}
	for row, nanos := range b.TimeNanos {
		start := schema.IntervalAt(nanos, r.intervalNanos).StartNanos
		byInterval[start] = append(byInterval[start], row)
	}
	for _, start := range slices.Sorted(maps.Keys(byInterval)) {
		part := rowsOf(b, byInterval[start])
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

// cloneBatch is a batch with memory of its own.
func cloneBatch(b *schema.CounterBatch) *schema.CounterBatch {
	c := cloneHead(b)
	c.TimeNanos, c.PortIndex = slices.Clone(b.TimeNanos), slices.Clone(b.PortIndex)
	for i, col := range b.Columns {
		c.Columns[i].Values, c.Columns[i].Valid = slices.Clone(col.Values), slices.Clone(col.Valid)
	}
	return c
}

// rowsOf is a batch of some rows, with memory of its own.
func rowsOf(b *schema.CounterBatch, rows []int) *schema.CounterBatch {
	c := cloneHead(b)
	for _, row := range rows {
		c.TimeNanos, c.PortIndex = append(c.TimeNanos, b.TimeNanos[row]), append(c.PortIndex, b.PortIndex[row])
	}
	for i, col := range b.Columns {
		to := &c.Columns[i]
		if col.Valid != nil {
			to.Valid = schema.NewBitmap(len(rows))
		}
		for n, row := range rows {
			to.Values = append(to.Values, col.Values[row])
			if col.Valid != nil && col.Valid.Has(row) {
				to.Valid.Set(n)
			}
		}
	}
	return c
}

// cloneHead is a batch without rows.
func cloneHead(b *schema.CounterBatch) *schema.CounterBatch {
	c := *b
	c.Fabric, c.Source, c.Agent = strings.Clone(b.Fabric), strings.Clone(b.Source), strings.Clone(b.Agent)
	c.TimeNanos, c.PortIndex = nil, nil
	c.Ports = make([]schema.PortName, len(b.Ports))
	for i, p := range b.Ports {
		c.Ports[i] = schema.PortName{Device: strings.Clone(p.Device), Port: strings.Clone(p.Port)}
	}
	c.Columns = make([]schema.CounterColumn, len(b.Columns))
	for i, col := range b.Columns {
		c.Columns[i].Name = strings.Clone(col.Name)
	}
	return &c
}

// bytesOf is about how much memory a batch takes.
func bytesOf(b *schema.CounterBatch) (bytes int) {
	for _, p := range b.Ports {
		bytes += 32 + len(p.Device) + len(p.Port)
	}
	for _, col := range b.Columns {
		bytes += 8*len(col.Values) + 8*len(col.Valid)
	}
	return bytes + 12*b.Rows()
}
