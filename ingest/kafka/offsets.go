package kafka

import "slices"

// offsets tracks which of the records passed to the handler are stored. Offsets need not be consecutive:
// gaps count as stored.
type offsets struct {
	pending   []span // the records that are not stored; ascending
	committed int64  // all records before it are stored
	next      int64  // after the last record passed to the handler
}

// span is a run of records without gaps: however many wait for a commit, they take no memory.
type span struct{ first, last int64 }

func (o *offsets) reset(committed int64) {
	o.pending, o.committed, o.next = o.pending[:0], committed, committed
}

// markPending records that a record is passed to the handler.
func (o *offsets) markPending(offset int64) {
	if n := len(o.pending); n > 0 && o.pending[n-1].last == offset-1 {
		o.pending[n-1].last = offset
	} else {
		o.pending = append(o.pending, span{offset, offset})
	}
	o.next = offset + 1
}

// skip records that nothing more needs storing before offset.
func (o *offsets) skip(offset int64) {
	o.next = offset
	o.advance()
}

// store marks the results of a record as stored.
func (o *offsets) store(offset int64) {
	for i, s := range slices.Backward(o.pending) {
		if offset < s.first || offset > s.last {
			continue
		}
		var rest []span
		if s.first < offset {
			rest = append(rest, span{s.first, offset - 1})
		}
		if offset < s.last {
			rest = append(rest, span{offset + 1, s.last})
		}
		o.pending = slices.Replace(o.pending, i, i+1, rest...)
		o.advance()
		return
	}
}

// storeThrough is store for every record up to and including offset.
func (o *offsets) storeThrough(offset int64) {
	n := 0
	for n < len(o.pending) && o.pending[n].last <= offset {
		n++
	}
	o.pending = slices.Delete(o.pending, 0, n)
	if len(o.pending) > 0 {
		o.pending[0].first = max(o.pending[0].first, offset+1)
	}
	o.advance()
}

func (o *offsets) advance() {
	if o.committed = o.next; len(o.pending) > 0 {
		o.committed = o.pending[0].first
	}
}
