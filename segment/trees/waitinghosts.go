package trees

import "github.com/giverny/giverny/internal/scratch"

// hostCosts finds, on a fabric of two levels, how unlikely it is that hosts wait for a cause: from the leaves whose uplinks
// wait for it alone, and from its root's leaf. Whether senders push so hard that hosts wait is alike at most leaves of a
// cause, so this tells for which of several causes the hosts of a leaf wait.
type hostCosts struct {
	some, none []float64 // by cause: leaves of which some hosts wait, and of which none does
	cost       []float64 // by cause: that hosts wait for it
}

func (costs *hostCosts) find(t *trees, s *sinks, c *causes, h *shares) {
	n := len(h.fall)
	costs.some, costs.none, costs.cost = scratch.Zeroed(costs.some, n), scratch.Zeroed(costs.none, n), scratch.Slice(costs.cost, n)
	for d := range int32(len(t.seen)) {
		if !t.waits.isLeaf(d) {
			continue
		}
		only := h.onlyCause(t, d)
		if a := s.at[d]; a >= 0 && t.stalledUp(d) == 0 {
			only = c.sets.Find(a)
		}
		switch {
		case only < 0:
		case t.stalledHosts(d) > 0:
			costs.some[only]++
		default:
			costs.none[only]++
		}
	}
	for k := range costs.cost {
		costs.cost[k] = costOf(hostChance(costs.some[k], costs.none[k]))
	}
}

// onlyCause is the cause for which all stalled uplinks of a leaf wait; -1 if there is none or several.
func (h *shares) onlyCause(t *trees, leaf int32) int32 {
	only := int32(-1)
	for _, i := range t.leaving.of(leaf) {
		if t.toHost(i) {
			continue
		}
		for _, p := range h.of[i].list() {
			if only >= 0 && only != p.cause {
				return -1
			}
			only = p.cause
		}
	}
	return only
}
