package window

// Lost describes rows that came too late for their intervals, or for the interval in
// which their difference to the previous reading begins, or too early: with the same
// rows in order of time, those intervals would include them.
type Lost struct {
	Rows int
	// The earliest and the latest instant of such a row; undefined if there are
	// none.
	FirstNanos, LastNanos int64
	// SlackNanos is by how much the rows were out of order: a buffer that holds each
	// row until there is one newer by that much restores the order of time
	// (k-slack).
	SlackNanos int64
}

// Add merges more into l.
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

// TakeLost returns what was lost since the last call.
func (w *Window) TakeLost() Lost {
	l := w.lost
	w.lost = Lost{}
	return l
}

// loseUnless records a row that its interval lacks, unless it does not belong there.
func (w *Window) loseUnless(foreign bool, nanos int64) {
	if !foreign {
		w.lose(nanos)
	}
}

// lose records a row that its interval lacks.
func (w *Window) lose(nanos int64) {
	slack := max(w.clocks.farthest, nanos) - min(w.openStart, nanos)
	w.lost.Add(Lost{Rows: 1, FirstNanos: nanos, LastNanos: nanos, SlackNanos: slack})
}
