package window

// Lost says which rows came too late for their intervals, or for that in which the
// difference to the reading before begins, or too early: with the same rows in order
// of time, those intervals would have had them.
type Lost struct {
	Rows int
	// The earliest and the latest instant of such a row; meaningless if there are
	// none.
	FirstNanos, LastNanos int64
	// SlackNanos is by how much the rows were out of order: rows that are held until
	// there are some newer by so much come in order of time (k-slack).
	SlackNanos int64
}

// Add takes more into account.
func (l *Lost) Add(more Lost) {
	switch {
	case more.Rows == 0:
		return
	case l.Rows == 0:
		*l = more
		return
	}
	l.Rows += more.Rows
	l.FirstNanos, l.LastNanos = min(l.FirstNanos, more.FirstNanos), max(l.LastNanos, more.LastNanos)
	l.SlackNanos = max(l.SlackNanos, more.SlackNanos)
}

// TakeLost is what was lost since the last call.
func (w *Window) TakeLost() Lost {
	l := w.lost
	w.lost = Lost{}
	return l
}

// lose notes a row that its interval lacks.
func (w *Window) lose(nanos int64) {
	slack := max(w.clocks.farthest, nanos) - min(w.openStart, nanos)
	w.lost.Add(Lost{Rows: 1, FirstNanos: nanos, LastNanos: nanos, SlackNanos: slack})
}
