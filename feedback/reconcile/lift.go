package reconcile

import (
	"cmp"
	"context"
	"slices"

	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/schema"
)

// Lift restores nodes that were marked by a process that no longer exists, undoing the parts of the mark that are unchanged
// since. marks are the actions that marked them. It returns one audit action per node, in order of names, or the scheduler's
// error. A node below a higher value of another client is refused and stays marked. If the process is still running, it
// marks the nodes again.
func Lift(ctx context.Context, s Scheduler, marks []schema.FeedbackAction, reason string) (acts []schema.FeedbackAction, err error) {
	marks = slices.SortedFunc(slices.Values(marks), func(a, b schema.FeedbackAction) int { return cmp.Compare(a.Target, b.Target) })
	var nodes []string
	for i := range marks {
		nodes = append(nodes, marks[i].Target)
	}
	now, err := s.Look(ctx, nodes)
	if err != nil {
		return nil, err
	}
	to := map[string]State{}
	for i := range marks {
		m := &marks[i]
		is, known := now[m.Target]
		then, act, why := relief(s, is, known, State(m.Before), State(m.After))
		a := action(cmp.Or(act, ActionRelieve), policy.Score{Node: m.Target, Fabric: m.Fabric, Score: m.Score, Reason: cmp.Or(why, reason)}, false)
		a.Before, a.After, a.Outcome = string(is), string(then), schema.FeedbackDone
		switch act {
		case "":
			to[m.Target] = then
		case actionWatch: // nothing failed; the mark stays listed, as nothing watches for the other client to put it back
			a.Action, a.Outcome, a.Reason = ActionRelease, schema.FeedbackRefused, coveredLift
		}
		acts = append(acts, a)
	}
	if len(to) == 0 {
		return acts, nil
	}
	setErr := s.Set(ctx, to)
	if now, err = s.Look(ctx, nodes); err != nil {
		return nil, cmp.Or(setErr, err)
	}
	for node, then := range to {
		if now[node] != then {
			at := slices.IndexFunc(acts, func(a schema.FeedbackAction) bool { return a.Target == node })
			acts[at].Outcome, acts[at].Reason = schema.FeedbackFailed, cmp.Or(setErr, errRefused).Error()
		}
	}
	return acts, nil
}
