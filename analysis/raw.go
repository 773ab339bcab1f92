package analysis

import (
	"strings"

	"github.com/giverny/giverny/schema"
)

// rawBuffer keeps, until their interval closes, the readings of which the
// window makes no metric: diagnostic counters and those that are not in the table yet.
type rawBuffer struct {
	intervalNanos int64
	open          map[int64]*rawInterval // by start
	openFrom      int64                  // intervals that start earlier are closed
	late, full    uint64                 // values dropped
}

type rawInterval struct {
	batches []*schema.CounterBatch
	seen    map[batchKey]bool
	values  int
}

// batchKey recognises a batch that Kafka delivered twice.
type batchKey struct {
	source, agent   string
	sequence, epoch uint64
	firstNanos      int64
	firstRow        int // rows of one interval may lie apart in a batch
}

// maxRawValues bounds what one interval of one fabric may keep raw.
const maxRawValues = 8 << 20

func newRawBuffer(intervalNanos int64) *rawBuffer {
	return &rawBuffer{intervalNanos: intervalNanos, open: map[int64]*rawInterval{}}
}

// add copies the batch's raw columns into the intervals that its rows lie in.
func (r *rawBuffer) add(b *schema.CounterBatch) {
	var columns []int
	for i := range b.Columns {
		if schema.KeptRaw(b.Columns[i].Name) {
			columns = append(columns, i)
		}
	}
	if len(columns) == 0 {
		return
	}
	for from := 0; from < b.Rows(); {
		start := schema.IntervalAt(b.TimeNanos[from], r.intervalNanos).StartNanos
		to := from + 1
		for to < b.Rows() && schema.IntervalAt(b.TimeNanos[to], r.intervalNanos).StartNanos == start {
			to++
		}
		r.addRows(b, columns, from, to, start)
		from = to
	}
}

func (r *rawBuffer) addRows(b *schema.CounterBatch, columns []int, from, to int, start int64) {
	values := len(columns) * (to - from)
	if start < r.openFrom {
		r.late += uint64(values)
		return
	}
	in := r.open[start]
	if in == nil {
		in = &rawInterval{seen: map[batchKey]bool{}}
		r.open[start] = in
	}
	key := batchKey{strings.Clone(b.Source), strings.Clone(b.Agent), b.Sequence, b.Epoch, b.TimeNanos[from], from}
	switch {
	case in.seen[key]: // delivered again
		return
	case in.values+values > maxRawValues:
		r.full += uint64(values)
		return
	}
	in.seen[key] = true
	in.values += values
	in.batches = append(in.batches, project(b, columns, from, to))
}

// project copies some columns and rows of a batch into memory of their own.
func project(b *schema.CounterBatch, columns []int, from, to int) *schema.CounterBatch {
	p := &schema.CounterBatch{Fabric: strings.Clone(b.Fabric), Source: strings.Clone(b.Source), Agent: strings.Clone(b.Agent),
		Sequence: b.Sequence, Epoch: b.Epoch, IntervalNanos: b.IntervalNanos}
	for _, port := range b.Ports {
		p.Ports = append(p.Ports, schema.PortName{Device: strings.Clone(port.Device), Port: strings.Clone(port.Port)})
	}
	p.TimeNanos = append(p.TimeNanos, b.TimeNanos[from:to]...)
	p.PortIndex = append(p.PortIndex, b.PortIndex[from:to]...)
	for _, i := range columns {
		c := schema.CounterColumn{Name: strings.Clone(b.Columns[i].Name), Values: append([]uint64(nil), b.Columns[i].Values[from:to]...)}
		if valid := b.Columns[i].Valid; valid != nil {
			c.Valid = schema.NewBitmap(to - from)
			for row := from; row < to; row++ {
				if valid.Has(row) {
					c.Valid.Set(row - from)
				}
			}
		}
		p.Columns = append(p.Columns, c)
	}
	return p
}

// take closes the interval, and all before it, and returns what it held.
func (r *rawBuffer) take(start int64) []*schema.CounterBatch {
	r.openFrom = max(r.openFrom, start+r.intervalNanos)
	var batches []*schema.CounterBatch
	for s, in := range r.open {
		if s == start {
			batches = in.batches
		}
		if s <= start {
			if s < start { // the window never emitted that interval
				r.late += uint64(in.values)
			}
			delete(r.open, s)
		}
	}
	return batches
}
