package search

// worker is the part of a search that one host pair serves: a coroutine that stops
// wherever it needs a measurement.
type worker struct {
	search   *Search
	next     func() (point, bool)
	stop     func()
	yield    func(point) bool
	asked    point       // that it waits for; nil: none
	claimed  bool        // asked was handed out
	ended    bool        // the search is over
	last     *experiment // what came of the last
	measured int         // workloads
}

// advance lets the worker run to its next question.
func (w *worker) advance() { w.asked, _ = w.next() }

// retries of a workload whose set-up failed.
const retries = 2

// measure has a point measured, again if its set-up failed or the fabric was not
// quiet. It is false when the search is over.
func (w *worker) measure(p point) (*experiment, bool) {
	for range 1 + retries {
		if w.ended || !w.yield(p) {
			w.ended = true
			return nil, false
		}
		w.measured++
		if w.last.result.Status == OK || w.last.result.Status == Invalid {
			break
		}
	}
	return w.last, true
}
