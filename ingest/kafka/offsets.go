package kafka

import (
	"slices"
	"sort"
)

// offsets knows which of the records handed on are stored. Offsets need not follow each other: there may be
// gaps, which count as stored.
type offsets struct {
	pending   []pendingOffset // ascending
	committed int64           // everything before it is stored
	next      int64           // after the last record handed on
}

type pendingOffset struct {
	offset int64
	stored bool
}

func (o *offsets) reset(committed int64) {
	o.pending, o.committed, o.next = o.pending[:0], committed, committed
}

// markPending notes that a record goes to the handler.
func (o *offsets) markPending(offset int64) {
	o.pending = append(o.pending, pendingOffset{offset: offset})
	o.next = offset + 1
}

// skip notes that there is nothing to store before offset.
func (o *offsets) skip(offset int64) {
	o.next = offset
	o.advance()
}

// store notes that the results of a record are stored.
func (o *offsets) store(offset int64) {
	i := sort.Search(len(o.pending), func(i int) bool { return o.pending[i].offset >= offset })
	if i == len(o.pending) || o.pending[i].offset != offset || o.pending[i].stored {
		return
	}
	o.pending[i].stored = true
	o.advance()
}

// storeThrough is store of every record up to and including offset.
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
