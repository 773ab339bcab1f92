package reconcile

import (
	"fmt"
	"time"

	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/schema"
)

// maxTold is how many refusals of a decision are noted node by node for each reason: a region may be near to thousands
// of nodes, of which a few may be marked.
const maxTold = 16

// tell notes refusals, and sums up those beyond maxTold.
func (r *Reconciler) tell(refused []policy.Refusal) {
	type cause struct{ fabric, reason string }
	counts := map[cause]int{}
	for _, refusal := range refused {
		c := cause{refusal.Fabric, string(refusal.Reason)}
		if counts[c]++; counts[c] <= maxTold {
			r.record.Refused(c.reason, action(ActionMark, refusal.Score, r.cfg.DryRun))
		}
	}
	for c, n := range counts {
		if more := n - maxTold; more > 0 {
			r.record.Dropped(c.reason, more-1) // and one by what follows
			sum := policy.Score{Node: fmt.Sprintf("%d more nodes", more), Fabric: c.fabric, Reason: "as the nodes before"}
			r.record.Refused(c.reason, action(ActionMark, sum, r.cfg.DryRun))
		}
	}
}

// cannotMark lets the policy go on without a node, and notes why, once as long as that lasts.
func (r *Reconciler) cannotMark(at time.Time, reason string, a schema.FeedbackAction) {
	if r.policy.Unmarkable(a.Target, policy.Reason(reason), at.UnixNano()) {
		r.record.Refused(reason, a)
	}
}
