package pipeline

// offsetQueue remembers, for the messages taken and not yet done with, how new
// their newest row is.
type offsetQueue []takenMessage

type takenMessage struct{ offset, newestNanos int64 }

func (q *offsetQueue) push(offset, newestNanos int64) {
	*q = append(*q, takenMessage{offset, newestNanos})
}

// through is the offset of the last message before the first that holds
// something from low on, -1 if there is none; those up to it are forgotten.
func (q *offsetQueue) through(low int64) int64 {
	n, offset := 0, NoOffset
	for n < len(*q) && (*q)[n].newestNanos < low {
		offset = (*q)[n].offset
		n++
	}
	*q = append((*q)[:0], (*q)[n:]...)
	return offset
}
