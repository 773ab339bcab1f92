package linkhealth

// watch debounces the state of one link or device.
type watch struct {
	failed    bool // as last reported
	confirmed bool // there is evidence that can end the failure: it was seen, or the link is explicitly up
	evident   bool // the failure is not just silence: a port's state or counter shows it
	bad, good int  // consecutive intervals with that evidence; intervals without any are skipped
}

// verdict is an interval's evidence about a link or device.
type verdict uint8

const (
	unknown verdict = iota
	isUp
	isSilent // down, judging by silence
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

// calm drops the evidence for a failure.
func (w *watch) calm() { w.bad, w.evident = 0, false }

// decide reports whether the state changed: evidence must last for intervals, silence alone for patience.
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

// accept sets a state reported by others. A failure that the counters never show is not
// over just because they do not show it.
func (w *watch) accept(failed bool) { *w = watch{failed: failed} }

// suspect reports whether the link or device has failed, or may be about to.
func (w *watch) suspect() bool { return w.failed || w.bad > 0 }
