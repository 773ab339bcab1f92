package trees

import (
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
)

// hostChances estimates, on a fabric of two levels, the chance that hosts wait for a cause: from leaves whose uplinks wait
// for it alone, and from its root's leaf. Where several causes explain the hosts of a leaf, that tells which.
type hostChances struct {
	some, none []float64 // by cause: leaves
	chance     []float64 // by cause
}

func (r *hostChances) find(t *trees, s *sinks, c *causes, h *shares) {
	n := len(h.fall)
	r.some, r.none, r.chance = scratch.Slice(r.some, n), scratch.Slice(r.none, n), scratch.Slice(r.chance, n)
	clear(r.some)
	clear(r.none)
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
			r.some[only]++
		default:
			r.none[only]++
		}
	}
	for k := range r.chance {
		r.chance[k] = hostChance(r.some[k], r.none[k])
	}
}

// onlyCause is the cause for which all stalled uplinks of a leaf wait; -1 if they wait for several.
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

// pathCost is what it costs, on a fabric of two levels, that a node waits for a cause: of a link from a host by how rarely
// hosts wait for it. For the only stalled uplink of a leaf, by how unlikely its hosts all take that one, if other spines
// lead to the cause as well and flows do not keep to single paths.
func (h *shares) pathCost(t *trees, i, cause int32) float64 {
	if t.fromHost(i) {
		return -math.Log(h.hosts.chance[cause]) / math.Sqrt2
	}
	leaf, ways := t.from[i], 1
	if !h.sharesPaths || t.stalledUp(leaf) > 1 {
		return 0
	}
	for _, l := range t.waits.out.of(leaf) {
		leads := func(j int32) bool { return h.of[j].has(cause) && t.waits.mayWait(l, t.links[j]) }
		if t.waits.isUp(l) && t.node[l] < 0 && t.values[l] >= 0 && slices.ContainsFunc(t.leaving.of(t.waits.to[l]), leads) {
			ways++
		}
	}
	return float64(max(1, t.stalledHosts(leaf))) * math.Log(float64(ways)) / math.Sqrt2
}
