package reconcile

import (
	"time"

	"github.com/giverny/giverny/internal/retry"
)

func backoff() retry.Backoff { return retry.Backoff{Min: minPause, Max: maxPause} }

// relieve begins the relief.
func (e *entry) relieve(reason string) {
	e.relieving, e.Reason = true, reason
	e.accepted()
}

// refused delays the next try.
func (e *entry) refused(now time.Time) {
	if e.pauses == nil {
		e.pauses = backoff().Pauses()
	}
	e.due = now.Add(e.pauses.Next())
}

// accepted ends the back-off.
func (e *entry) accepted() { e.pauses, e.due = nil, time.Time{} }

// unsettle makes settle look at all marks again: a scheduler that was restarted has
// lost them.
func (r *Reconciler) unsettle() {
	for _, e := range r.journal.entries {
		e.settled = false
	}
}

func (e *entry) pending() bool { return !e.settled || e.relieving }

func (r *Reconciler) unsettled() (n int) {
	for _, e := range r.journal.entries {
		if e.pending() {
			n++
		}
	}
	return n
}

// anyDue says whether a node is to be looked at and, if need be, changed now.
func (r *Reconciler) anyDue(now time.Time) bool {
	for _, e := range r.journal.entries {
		if e.pending() && !now.Before(e.due) {
			return true
		}
	}
	return false
}

// nextTry is the time until the first of the refused nodes is tried again.
func (r *Reconciler) nextTry(now time.Time) time.Duration {
	next := maxPause
	for _, e := range r.journal.entries {
		if e.pauses != nil {
			next = min(next, max(e.due.Sub(now), 0))
		}
	}
	return next
}

// worked notes that the scheduler answers, unless it still refuses nodes.
func (r *Reconciler) worked() {
	for _, e := range r.journal.entries {
		if e.pauses != nil {
			return
		}
	}
	r.record.Worked()
}
