package linkhealth

// watch debounces the state of one link or device.
type watch struct {
	failed    bool // as was last reported
	confirmed bool // there is evidence that can end the failure: it was seen, or the link is expressly up
	evident   bool // the failure is not a silence alone: a port's state or counter says so
	bad, good int  // intervals in a row with that evidence; those without any do not count
}

// verdict is what an interval says of a link or device.
type verdict uint8

const (
	unknown verdict = iota
	isUp
	isSilent // down, as far as silence says so
	isDown
)

func (w *watch) observe(v verdict) {
	switch v {
	case isDown, isSilent:
		w.bad, w.good, w.confirmed, w.evident = min(w.bad+1, maxDebounce), 0, true, w.evident || v == isDown
	case isUp:
		w.calm()
		w.good = min(w.good+1, maxDebounce)
	}
}

// calm drops what spoke for a failure.
func (w *watch) calm() { w.bad, w.evident = 0, false }

// decide reports whether the state changed, once evidence for it has lasted; silence alone for longer.
func (w *watch) decide(intervals, patience int) (changed bool) {
	switch {
	case !w.failed && (w.bad >= patience || w.evident && w.bad >= intervals):
		w.failed = true
	case w.failed && w.confirmed && w.good >= intervals:
		w.failed, w.confirmed = false, false
	default:
		return false
	}
	return true
}

// accept takes a state that others reported. A failure of which the counters
// never say anything is not over because they say nothing.
func (w *watch) accept(failed bool) { *w = watch{failed: failed} }

// suspect says that the link or device is failed, or about to be.
func (w *watch) suspect() bool { return w.failed || w.bad > 0 }
