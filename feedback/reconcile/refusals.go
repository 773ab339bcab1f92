package reconcile

import (
	"fmt"
	"time"

	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/schema"
)

// maxTold bounds the refusals audited one by one per decision and reason: a region may affect thousands of nodes, of
// which only a few may be marked.
const maxTold = 16

// tell records refusals, with one summary for those beyond maxTold.
func (r *Reconciler) tell(refused []policy.Refusal) {
	type cause struct{ fabric, action, reason string }
	counts := map[cause]int{}
	for _, refusal := range refused {
		c := cause{refusal.Fabric, ActionMark, string(refusal.Reason)}
		if refusal.Relief { // the policy does not know the fabric of each marked node
			c.fabric, c.action = r.fabricOf(refusal.Node), ActionRelieve
			refusal.Fabric = c.fabric
		}
		if counts[c]++; counts[c] <= maxTold {
			r.record.Refused(c.reason, action(c.action, refusal.Score, r.cfg.DryRun))
		}
	}
	for c, n := range counts {
		if more := n - maxTold; more > 0 {
			r.record.Dropped(c.reason, more-1) // Refused below counts one more
			sum := policy.Score{Node: fmt.Sprintf("%d more nodes", more), Fabric: c.fabric, Reason: "same reason as the nodes above"}
			r.record.Refused(c.reason, action(c.action, sum, r.cfg.DryRun))
		}
	}
}

// fabricOf returns the fabric because of which a node was marked.
func (r *Reconciler) fabricOf(node string) string {
	if e := r.journal.entries[node]; e != nil {
		return e.Fabric
	}
	return r.pretended[node].Fabric
}

// cannotMark reports to the policy that a node cannot be marked, and records the reason once until it changes.
func (r *Reconciler) cannotMark(at time.Time, reason string, a schema.FeedbackAction) {
	if r.policy.Unmarkable(a.Target, policy.Reason(reason), at.UnixNano()) {
		r.record.Refused(reason, a)
	}
}
