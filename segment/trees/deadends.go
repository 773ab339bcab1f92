package trees

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
)

// deadEnds finds links of a region with a root that lead elsewhere: a tree has one end, so other ends are lone hot
// links.
type deadEnds struct {
	isIn, isEnd by[nodeID, bool] // in the region; a dead end of it
	kept        []nodeID         // nodes
}

// drop returns the nodes of a region without dead ends that nothing depends on. It returns all if there is no root or
// fewer than least would remain.
func (e *deadEnds) drop(t *trees, nodes []nodeID, r root, least int) []nodeID {
	if r.device == noDevice {
		return nodes
	}
	e.grow(len(t.links))
	for _, i := range nodes {
		e.isIn[i] = true
	}
	for _, i := range nodes {
		e.isEnd[i] = e.endsAt(t, i, r)
	}
	e.kept = e.kept[:0]
	for _, i := range nodes {
		if !e.isEnd[i] || e.isNeeded(t, i) {
			e.kept = append(e.kept, i)
		}
	}
	for _, i := range nodes {
		e.isIn[i], e.isEnd[i] = false, false
	}
	if len(e.kept) < least {
		return nodes
	}
	return e.kept
}

// grow makes room for the given number of nodes, unmarked.
func (e *deadEnds) grow(nodes int) {
	for len(e.isIn) < nodes {
		e.isIn, e.isEnd = append(e.isIn, false), append(e.isEnd, false)
	}
}

// endsAt reports whether a node waits for no other of the region and for no unmeasured link, and is the region's only
// one into its switch, which is not the root's. An uplink beside others is no dead end: traffic over several uplinks
// waits for each.
func (e *deadEnds) endsAt(t *trees, i nodeID, r root) bool {
	w, l := t.waits, t.links[i]
	if t.to[i] == r.device || schema.LinkID(l) == r.link {
		return false
	}
	isOther := func(j nodeID) bool { return j != i && e.isIn[j] }
	if slices.ContainsFunc(t.mayWaitFor(i), isOther) || slices.ContainsFunc(t.into.of(t.to[i]), isOther) {
		return false
	}
	isUpBeside := func(j nodeID) bool { return isOther(j) && w.isUp(t.links[j]) }
	if w.isUp(l) && slices.ContainsFunc(t.leaving.of(t.from[i]), isUpBeside) {
		return false
	}
	return !slices.ContainsFunc(w.out.of(t.to[i]), func(k linkID) bool { return t.values[k] == linkset.Missing && w.mayWait(l, k) })
}

// isNeeded reports whether a node of the region waits for an end and for no node that is not an end.
func (e *deadEnds) isNeeded(t *trees, end nodeID) bool {
	return slices.ContainsFunc(t.into.of(t.from[end]), func(i nodeID) bool {
		return e.isIn[i] && t.waits.mayWait(t.links[i], t.links[end]) &&
			!slices.ContainsFunc(t.mayWaitFor(i), func(j nodeID) bool { return e.isIn[j] && !e.isEnd[j] })
	})
}
