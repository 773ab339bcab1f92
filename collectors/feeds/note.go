package feeds

import "time"

// note updates the state after a read.
func (r *Runner) note(now time.Time, rows *Rows, took taken, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &r.health
	was := h.State
	r.count(now, rows, took, err)
	h.State = r.stateAt(now)
	r.metrics.show(h.State)
	switch log := r.log.With("state", h.State, "before", was); {
	case was == h.State && err != nil && h.Failures == 1:
		r.log.Warn("feeds: read failed", "error", err)
	case was == h.State:
	case h.State == OK:
		log.Info("feeds: state changed")
	case err != nil:
		log.Warn("feeds: state changed", "failed_reads", h.Failures, "error", err)
	default:
		log.Warn("feeds: state changed")
	}
}

// count adds a read to what the state follows from; r.mu is held.
func (r *Runner) count(now time.Time, rows *Rows, took taken, err error) {
	h := &r.health
	if h.Err = err; err == nil {
		h.LastRead, h.Failures = now, 0
	} else {
		h.Failures++
	}
	if now.Sub(h.minute) >= time.Minute {
		h.minute, h.arrived = now, 0
	}
	if h.full++; !rows.More || rows.Len() < MaxRows {
		h.full = 0
	}
	if h.arrived += rows.Len(); h.arrived+rows.Backlog > r.cfg.FloodPerMinute || h.full >= fullReads {
		h.flooded = now
	}
	if took.lies > 0 {
		h.implausibleAt, h.implausible = now, r.implausible
	}
	if took.matched > 0 {
		h.strangers = 0
	} else if took.strangers > 0 {
		h.strangers, h.stranger = h.strangers+took.strangers, r.stranger
	}
	if rows.Held {
		r.metrics.held.Inc()
		if h.held++; h.held == 1 {
			h.since = now
		}
		h.broken = r.broken
	} else if err == nil {
		h.held = 0
	}
	if took.unparsed > 0 {
		h.lost, h.lostRows, h.broken = now, took.unparsed, r.broken
	}
	if took.parsed > 0 {
		h.unparsed = 0
	} else if took.unparsed > 0 {
		h.unparsed += took.unparsed
	}
}

// stateAt is the first state that applies; r.mu is held.
func (r *Runner) stateAt(now time.Time) State {
	h := &r.health
	many := func(rows int) bool { return rows >= manyStrangers || h.Rows == 0 && rows >= firstStrangers }
	recent := func(t time.Time) bool { return !t.IsZero() && now.Sub(t) < time.Minute }
	switch {
	case h.Failures >= r.cfg.StoppedAfter:
		return Stopped
	case recent(h.implausibleAt):
		return Implausible
	case many(h.unparsed) || h.held >= r.cfg.StoppedAfter:
		return Unusable
	case many(h.strangers):
		return Unmatched
	case !h.lost.IsZero() && now.Sub(h.lost) < keptLoss:
		return Incomplete
	case recent(h.flooded):
		return Flood
	case h.LastRead.IsZero():
		return Waiting
	}
	return OK
}
