package analysis

import (
	"strings"

	"github.com/giverny/giverny/schema"
)

// rawBuffer keeps, until their interval closes, the readings of which the window makes
// no metric: diagnostic counters and those that are not in the table.
type rawBuffer struct {
	intervalNanos int64
	open          map[int64]*rawInterval // by start
	openFrom      int64                  // intervals that start before this are closed
	// Values dropped: late, too far ahead, or for lack of room.
	late, early, full uint64
}

type rawInterval struct {
	batches []*schema.CounterBatch
	seen    map[batchKey]bool
	values  int
}

// batchKey deduplicates batches that Kafka delivers twice.
type batchKey struct {
	source, agent   string
	sequence, epoch uint64
	firstNanos      int64
}

// maxRawValues limits the raw values of one interval, maxRawIntervals the number of open intervals.
const (
	maxRawValues    = 8 << 20
	maxRawIntervals = 1 << 12
)

func newRawBuffer(intervalNanos int64) *rawBuffer {
	return &rawBuffer{intervalNanos: intervalNanos, open: map[int64]*rawInterval{}}
}

// add copies the batch's raw columns into the intervals of its rows, up to the end of the open ones.
func (r *rawBuffer) add(b *schema.CounterBatch, endNanos int64) {
	var columns []int
	for i := range b.Columns {
		if schema.KeptRaw(b.Columns[i].Name) {
			columns = append(columns, i)
		}
	}
	if len(columns) == 0 {
		return
	}
	for interval, rows := range b.ByInterval(r.intervalNanos) {
		if interval.StartNanos >= endNanos {
			r.early += uint64(len(columns) * len(rows))
			continue
		}
		r.addRows(b, columns, rows, interval.StartNanos)
	}
}

func (r *rawBuffer) addRows(b *schema.CounterBatch, columns, rows []int, start int64) {
	values := len(columns) * len(rows)
	if start < r.openFrom {
		r.late += uint64(values)
		return
	}
	in := r.open[start]
	if in == nil {
		if len(r.open) >= maxRawIntervals {
			r.full += uint64(values)
			return
		}
		in = &rawInterval{seen: map[batchKey]bool{}}
		r.open[start] = in
	}
	key := batchKey{strings.Clone(b.Source), strings.Clone(b.Agent), b.Sequence, b.Epoch, b.TimeNanos[rows[0]]}
	switch {
	case in.seen[key]: // delivered twice
		return
	case in.values+values > maxRawValues:
		r.full += uint64(values)
		return
	}
	in.seen[key] = true
	in.values += values
	in.batches = append(in.batches, b.Part(rows, columns))
}

// take closes the interval, and all before it, and returns its batches.
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
