package kafka

import (
	"slices"
	"sort"
)

// offsets tracks which of the records passed to the handler are stored. Offsets need not be consecutive:
// gaps count as stored.
type offsets struct {
	pending   []pendingOffset // ascending
	committed int64           // all records before it are stored
	next      int64           // after the last record passed to the handler
}

type pendingOffset struct {
	offset int64
	stored bool
}

func (o *offsets) reset(committed int64) {
	o.pending, o.committed, o.next = o.pending[:0], committed, committed
}

// markPending records that a record is passed to the handler.
func (o *offsets) markPending(offset int64) {
	o.pending = append(o.pending, pendingOffset{offset: offset})
	o.next = offset + 1
}

// skip records that nothing more needs storing before offset.
func (o *offsets) skip(offset int64) {
	o.next = offset
	o.advance()
}

// store marks the results of a record as stored.
func (o *offsets) store(offset int64) {
	i := sort.Search(len(o.pending), func(i int) bool { return o.pending[i].offset >= offset })
	if i == len(o.pending) || o.pending[i].offset != offset || o.pending[i].stored {
		return
	}
	o.pending[i].stored = true
	o.advance()
}

// storeThrough is store for every record up to and including offset.
func (o *offsets) storeThrough(offset int64) {
	for i := range o.pending {
		if o.pending[i].offset > offset {
			break
		}
		o.pending[i].stored = true
	}
	o.advance()
}

func (o *offsets) advance() {
	n := 0
	for n < len(o.pending) && o.pending[n].stored {
		n++
	}
	o.pending = slices.Delete(o.pending, 0, n)
	if len(o.pending) > 0 {
		o.committed = o.pending[0].offset
	} else {
		o.committed = o.next
	}
}
