package pipeline

// NoOffset is the offset of input that cannot be committed.
const NoOffset = int64(-1)

// sourceState tracks how far a source has been read.
type sourceState struct {
	source Source
	taken  offsetQueue
}

// offsetQueue holds, for the messages that cannot be committed yet, how new
// their newest row is. It leaves out those that can be committed with a later
// one: while no interval closes, because all clocks are off for example, it
// does not grow.
type offsetQueue []takenMessage

type takenMessage struct{ offset, newestNanos int64 }

func (q *offsetQueue) push(offset, newestNanos int64) {
	if n := len(*q); n > 0 && (*q)[n-1].newestNanos >= newestNanos {
		(*q)[n-1].offset = offset
		return
	}
	*q = append(*q, takenMessage{offset, newestNanos})
}

// through returns the offset of the last message before the first one with a
// row at low or later, NoOffset if there is none; it drops the messages up to
// it.
func (q *offsetQueue) through(low int64) int64 {
	n, offset := 0, NoOffset
	for n < len(*q) && (*q)[n].newestNanos < low {
		offset = (*q)[n].offset
		n++
	}
	*q = append((*q)[:0], (*q)[n:]...)
	return offset
}

// took records that a source has been read up to an offset; in.mu is held.
func (in *Intake) took(s Source, offset, newestNanos int64) {
	if offset == NoOffset {
		return
	}
	for _, state := range in.sources {
		if state.source == s {
			state.taken.push(offset, newestNanos)
		}
	}
}
