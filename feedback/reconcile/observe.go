package reconcile

import (
	"maps"
	"slices"
	"time"

	"github.com/giverny/giverny/feedback/policy"
)

// Scores of a fabric's nodes, under the scheduler's names.
type Scores struct {
	Fabric  string
	AtNanos int64 // end of the interval the scores are from
	Unknown bool
	Nodes   []policy.Score // each node once
	Held    []Held
}

// Held is a node near congestion whose readings stopped: a score of 0 does not show that it ended.
type Held struct {
	Node       string
	SinceNanos int64 // when it was last measured
}

// Take stores the scores of a fabric; it never blocks.
func (r *Reconciler) Take(s Scores) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest[s.Fabric], r.fresh, r.heard = s, true, time.Now()
	if !s.Unknown {
		r.known[s.Fabric] = s
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Forget drops the scores of a fabric that another process now owns. Its nodes are relieved as if it were calm, or if it
// was the only fabric, as if its scores were unknown.
func (r *Reconciler) Forget(fabric string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.newest, fabric)
	delete(r.known, fabric)
	r.fresh = len(r.newest) > 0
}

// observe passes the newest scores to the policy; a node on several fabrics gets the highest. If all fabrics are unknown,
// or no scores arrive any more, the policy is given unknown scores; a single unknown fabric only keeps its marks.
func (r *Reconciler) observe(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.fresh {
		if !r.heard.IsZero() && now.Sub(r.heard) < r.cfg.Policy.RelieveUnknownAfter {
			return
		}
		r.policy.Unknown(now.UnixNano())
		return
	}
	r.fresh = false
	highest, at, known := map[string]policy.Score{}, int64(0), false
	for _, s := range r.newest {
		at = max(at, s.AtNanos)
	}
	for _, s := range r.newest {
		if s.Unknown || at-s.AtNanos >= int64(r.cfg.Policy.RelieveUnknownAfter) { // in the latter case the fabric sends no scores any more
			continue
		}
		known = true
		for _, n := range s.Nodes {
			if had, ok := highest[n.Node]; !ok || n.Score > had.Score {
				highest[n.Node] = n
			}
		}
	}
	if !known {
		r.policy.Unknown(at)
		return
	}
	r.hold(highest, at)
	r.policy.Observe(at, slices.Collect(maps.Values(highest)))
}

// hold raises the scores of marked nodes just enough to keep the marks, if a fabric, or a region, that may have caused them
// has been unknown for less than RelieveUnknownAfter.
func (r *Reconciler) hold(scores map[string]policy.Score, atNanos int64) {
	marked := r.marked()
	raise := func(node, fabric, reason string) {
		if marked[node] && scores[node].Score < r.cfg.Policy.LowerAt {
			scores[node] = policy.Score{Node: node, Score: r.cfg.Policy.LowerAt, Fabric: fabric, Reason: reason}
		}
	}
	for fabric, s := range r.newest {
		for _, h := range s.Held {
			if atNanos-h.SinceNanos < int64(r.cfg.Policy.RelieveUnknownAfter) {
				raise(h.Node, fabric, "the congested links nearby have no readings")
			}
		}
		last := r.known[fabric]
		if !s.Unknown || atNanos-last.AtNanos >= int64(r.cfg.Policy.RelieveUnknownAfter) {
			continue
		}
		for _, n := range last.Nodes {
			raise(n.Node, fabric, "the state of fabric "+fabric+" is unknown")
		}
	}
}
