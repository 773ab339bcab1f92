package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/schema"
)

// settle makes the scheduler match the journal. It reads the nodes that are due, saves the journal, changes those that differ,
// reads these again, and saves the journal without those that are restored. Whenever the process ends, the file has every node that
// may be changed. Nodes in back-off are skipped. An error means that some changes are outstanding.
func (r *Reconciler) settle(ctx context.Context, at time.Time) error {
	due := r.due(at)
	now, err := r.look(ctx, due)
	if err != nil {
		return err
	}
	wanted := r.wanted(now, due, at)
	unsaved := r.journal.save()
	if unsaved != nil { // the file suffices for reliefs only
		r.dropPlans(at)
		maps.DeleteFunc(wanted, func(node string, _ State) bool {
			e := r.journal.entries[node]
			return e == nil || !e.relieving
		})
	}
	unread := now.failed()
	if len(wanted) > 0 {
		setErr := brief(r.scheduler.Set(ctx, wanted))
		if now, err = r.look(ctx, slices.Sorted(maps.Keys(wanted))); err != nil {
			return errors.Join(setErr, err)
		}
		err = r.taken(now, wanted, setErr, at)
	}
	err = cmp.Or(err, unread)
	if saveErr := cmp.Or(r.journal.save(), unsaved); saveErr != nil {
		return errors.Join(err, saveErr)
	}
	r.report(0)
	if err == nil {
		r.worked()
	}
	return err
}

// maxError bounds an error, in bytes: the audit repeats it for each unchanged node, and both may be in the thousands.
const maxError = 1000

func brief(err error) error {
	if err == nil || len(err.Error()) <= maxError {
		return err
	}
	return fmt.Errorf("%s ... (%d bytes of errors)", strings.ToValidUTF8(err.Error()[:maxError], ""), len(err.Error()))
}

// wanted lists the due nodes that differ from their target state, and drops those that
// need no further change.
func (r *Reconciler) wanted(now looked, due []string, at time.Time) map[string]State {
	to := map[string]State{}
	for _, node := range due {
		e := r.journal.entries[node]
		if now.unread[node] != nil {
			e.refused(at)
			continue
		}
		is, known := now.states[node]
		if !known || e.relieving {
			switch then, act, why := relief(r.scheduler, is, known, e.Before, e.Marked); act {
			case "":
				to[node] = then
			case actionWatch:
				r.watch(node, e, is, at)
			default:
				r.drop(node, e, act, cmp.Or(why, e.Reason), is)
			}
			continue
		}
		_, found := r.scheduler.Undo(is, e.Before, e.Marked)
		switch {
		case is == e.Marked || found == Covered:
			e.settled = true
			e.accepted()
		case found == Stands || is == e.Before: // not yet marked, or lost by a restart of the scheduler
			again, err := r.scheduler.Avoid(is)
			if err != nil || again == is {
				e.settled = true // the mark is there, along with changes by others
				e.accepted()
				continue
			}
			e.Marked = again
			to[node] = again
		default:
			r.drop(node, e, ActionRelease, foreignMark, is)
		}
	}
	return to
}

// Reasons for dropping a node.
const (
	unknownMark = "the scheduler no longer has this node"
	foreignMark = "changed by another client meanwhile; left unchanged"
	coveredMark = "another client has given it a higher value, which stays; if that client puts this mark back, the mark is undone"
)

// coveredLift is coveredMark where no process watches the node.
const coveredLift = "another client, or a person, has given it a higher value, which stays; if that client puts this mark back, lift it again"

// actionWatch is not an action: the mark is below the value of another client.
const actionWatch = "watch"

// relief returns the state that a marked node gets on relief; or, if nothing needs to be changed, the action for the audit
// or actionWatch, and the reason if the outcome is not a relief.
func relief(s Scheduler, is State, known bool, before, marked State) (then State, act, why string) {
	if !known {
		return "", ActionRelease, unknownMark
	}
	then, found := s.Undo(is, before, marked)
	switch {
	case then != is:
		return then, "", ""
	case found == Covered:
		return is, actionWatch, coveredMark
	case found == Gone && is != before:
		return is, ActionRelease, foreignMark
	}
	return is, ActionRelieve, ""
}

// watch ends the mark of a node below the value of another client, and looks at it again with the next verification.
func (r *Reconciler) watch(node string, e *entry, is State, at time.Time) {
	e.accepted()
	e.due = at.Add(verifyEach)
	if !e.Released {
		e.Released = true
		r.audit(node, e, ActionRelease, coveredMark, is)
	}
}

// drop removes a node from the journal, which must be saved afterwards.
func (r *Reconciler) drop(node string, e *entry, name, reason string, is State) {
	delete(r.journal.entries, node)
	if !e.Released { // else its end is in the audit
		r.audit(node, e, name, reason, is)
	}
}

// audit records the end of a mark without a change of the node.
func (r *Reconciler) audit(node string, e *entry, name, reason string, is State) {
	r.done(schema.FeedbackAction{Action: name, Target: node, Fabric: e.Fabric, Score: e.Score, Reason: reason, Before: string(e.Marked), After: string(is)})
}

// taken records which changes the scheduler accepted, and starts a back-off for each node it refused, so that one
// node refused permanently does not delay the others.
func (r *Reconciler) taken(now looked, wanted map[string]State, setErr error, at time.Time) error {
	missing := 0
	for node, to := range wanted {
		e := r.journal.entries[node]
		a := action(ActionMark, policy.Score{Node: node, Fabric: e.Fabric, Score: e.Score, Reason: e.Reason}, false)
		a.Before, a.After = string(e.Before), string(to)
		if e.relieving {
			a.Action, a.Before = ActionRelieve, string(e.Marked)
		}
		if is, known := now.states[node]; known && is != to || now.unread[node] != nil {
			missing++
			e.refused(at)
			if setErr != nil {
				a.Reason = setErr.Error()
			}
			a.Outcome = schema.FeedbackFailed
			r.record.Acted(a)
			continue
		}
		e.accepted()
		if _, left := r.scheduler.Undo(now.states[node], e.Before, e.Marked); e.relieving && left != Covered {
			delete(r.journal.entries, node)
		} else if !e.relieving {
			if e.acted {
				a.Action = ActionReapply
			}
			e.settled, e.acted = true, true
		}
		r.done(a)
	}
	if missing > 0 {
		return errors.Join(fmt.Errorf("%d of %d nodes: %w", missing, len(wanted), errRefused), setErr)
	}
	return nil // every wanted change succeeded, so setErr does not matter
}
