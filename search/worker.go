package search

// worker is the coroutine of a search that one host pair serves: it yields whenever it
// needs a measurement.
type worker struct {
	search   *Search
	next     func() (point, bool)
	stop     func()
	yield    func(point) bool
	asked    point       // point to be measured; nil: none
	claimed  bool        // asked was handed out
	ended    bool        // the search is over
	last     *experiment // result of the last measurement
	measured int         // number of workloads
}

// advance runs the worker until its next measurement.
func (w *worker) advance() { w.asked, _ = w.next() }

// retries of a workload with a failed set-up.
const retries = 2

// measure measures a point, and retries if the set-up failed or the fabric was
// congested. It returns false when the search is over.
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
