package linkhealth

// watch debounces the state of one link or device.
type watch struct {
	failed    bool // as last reported
	silent    bool // a device, as last reported: it does not answer, but works
	confirmed bool // there is evidence that can end the failure: it was seen, or the link is explicitly up
	evident   bool // the failure is more than missing readings: a port's state or counter shows it
	bad, good int  // consecutive intervals with that evidence; intervals without any are skipped
	alive     int  // of a device that does not answer: consecutive intervals that show that it works; negative: that it is dead
}

// verdict is an interval's evidence about a link or device.
type verdict uint8

const (
	unknown verdict = iota
	isUp
	isSilent  // a device does not answer, but works: a neighbour reports its link as up, or exchanges traffic with it
	isMissing // down, as far as missing readings show
	isIdle    // and a device's cables carry nothing any more
	isDown
)

func (w *watch) observe(v verdict) {
	switch v {
	case isUp:
		w.calm()
		w.good = min(w.good+1, maxDebounce)
		return
	case unknown:
		return
	case isSilent:
		w.alive, w.evident = min(max(w.alive, 0)+1, maxDebounce), false
	case isIdle, isDown:
		if w.alive > 0 { // until now it was only silent
			w.bad = 0
		}
		w.alive, w.evident = max(min(w.alive, 0)-1, -maxDebounce), w.evident || v == isDown
	}
	w.bad, w.good = min(w.bad+1, maxDebounce), 0
	w.confirmed = w.confirmed || v != isSilent
}

// calm drops the evidence for a failure.
func (w *watch) calm() { w.bad, w.alive, w.evident = 0, 0, false }

// decide reports whether the state changed: evidence must last for intervals, missing readings alone for patience.
func (w *watch) decide(intervals, patience int) (changed bool) {
	was := [2]bool{w.failed, w.silent}
	switch {
	case w.failed || w.silent:
		w.revise(intervals)
	case w.bad >= patience || w.evident && w.bad >= intervals:
		w.failed, w.silent = w.alive <= 0, w.alive > 0
	}
	return was != [2]bool{w.failed, w.silent}
}

// revise ends a reported state, or replaces it by the other.
func (w *watch) revise(intervals int) {
	switch {
	case w.silent && w.good >= intervals:
		w.silent = false
	case w.silent && w.alive <= -intervals:
		w.failed, w.silent = true, false
	case w.failed && w.confirmed && w.good >= intervals:
		w.failed, w.confirmed = false, false
	case w.failed && w.confirmed && w.alive >= intervals:
		w.failed, w.confirmed, w.silent = false, false, true
	}
}

// accept sets a reported state. A failure that the counters never show is not
// over just because they do not show it.
func (w *watch) accept(failed, silent, byOthers bool) {
	*w = watch{failed: failed, silent: silent}
	if failed && byOthers {
		w.alive = -1
	}
}

// isEvident reports whether more than missing readings shows the failure.
func (w *watch) isEvident() bool { return w.failed && (w.evident || w.alive < 0) }

// suspect reports whether the link or device has failed or does not answer, or may be about to.
func (w *watch) suspect() bool { return w.failed || w.silent || w.bad > 0 }
