package reconcile

import (
	"slices"
	"time"

	"github.com/giverny/giverny/internal/retry"
)

func backoff() retry.Backoff { return retry.Backoff{Min: minPause, Max: maxPause} }

// relieve starts the relief of the node.
func (e *entry) relieve(reason string) {
	e.relieving, e.Reason = true, reason
	e.accepted()
}

// refused starts or extends the back-off of the node.
func (e *entry) refused(now time.Time) {
	if e.pauses == nil {
		e.pauses = backoff().Pauses()
	}
	e.due = now.Add(e.pauses.Next())
}

// accepted resets the back-off.
func (e *entry) accepted() { e.pauses, e.due = nil, time.Time{} }

// unsettle makes settle verify all marks again, since a restarted scheduler has lost
// them.
func (r *Reconciler) unsettle() {
	for _, e := range r.journal.entries {
		e.settled = false
	}
}

func (e *entry) pending() bool { return !e.Released && (!e.settled || e.relieving) }

// held is the number of nodes that are marked or about to be.
func (r *Reconciler) held() (n int) {
	for _, e := range r.journal.entries {
		if !e.Released {
			n++
		}
	}
	return n
}

func (r *Reconciler) unsettled() (n int) {
	for _, e := range r.journal.entries {
		if e.pending() {
			n++
		}
	}
	return n
}

// isDue reports whether a node must be checked, and changed if necessary, now.
func (e *entry) isDue(now time.Time) bool { return (e.pending() || e.Released) && !now.Before(e.due) }

// anyDue reports whether a node is due.
func (r *Reconciler) anyDue(now time.Time) bool {
	for _, e := range r.journal.entries {
		if e.isDue(now) {
			return true
		}
	}
	return false
}

// due lists the nodes that are due. The others wait for the next verification: with thousands of marked nodes, reading all at
// every change would be a load for the scheduler.
func (r *Reconciler) due(now time.Time) (nodes []string) {
	for node, e := range r.journal.entries {
		if e.isDue(now) {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// nextTry is the time until the first refused node is retried.
func (r *Reconciler) nextTry(now time.Time) time.Duration {
	next := maxPause
	for _, e := range r.journal.entries {
		if e.pauses != nil {
			next = min(next, max(e.due.Sub(now), 0))
		}
	}
	return next
}

// worked records success, unless some nodes are still refused or unread.
func (r *Reconciler) worked() {
	if r.unread == nil && !r.refusing() {
		r.record.Worked()
	}
}

// refusing reports whether nodes are in back-off.
func (r *Reconciler) refusing() bool {
	for _, e := range r.journal.entries {
		if e.pauses != nil {
			return true
		}
	}
	return false
}
