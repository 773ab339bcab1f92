package trees

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// deadEnds finds links of a region with a root that lead elsewhere: a tree has one end, so other ends are lone hot
// links.
type deadEnds struct {
	isIn, isEnd index.By[index.Node, bool] // in the region; a dead end of it
	kept        []index.Node               // nodes
}

// drop returns the nodes of a region without dead ends that nothing depends on. It returns all if there is no root or
// fewer than least would remain.
func (e *deadEnds) drop(t *trees, nodes []index.Node, r backpressure.Root, least int) []index.Node {
	if r.Device == backpressure.NoDevice {
		return nodes
	}
	e.grow(len(t.Links))
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
func (e *deadEnds) endsAt(t *trees, i index.Node, r backpressure.Root) bool {
	w, l := t.Graph, t.Links[i]
	if t.To[i] == r.Device || schema.LinkID(l) == r.Link {
		return false
	}
	isOther := func(j index.Node) bool { return j != i && e.isIn[j] }
	if slices.ContainsFunc(t.MayWaitFor(i), isOther) || slices.ContainsFunc(t.Into.Of(t.To[i]), isOther) {
		return false
	}
	isUpBeside := func(j index.Node) bool { return isOther(j) && w.IsUp(t.Links[j]) }
	if w.IsUp(l) && slices.ContainsFunc(t.Leaving.Of(t.From[i]), isUpBeside) {
		return false
	}
	return !slices.ContainsFunc(w.Out.Of(t.To[i]), func(k index.Link) bool { return t.Values[k] == linkset.Missing && w.MayWait(l, k) })
}

// isNeeded reports whether a node of the region waits for an end and for no node that is not an end.
func (e *deadEnds) isNeeded(t *trees, end index.Node) bool {
	return slices.ContainsFunc(t.Into.Of(t.From[end]), func(i index.Node) bool {
		return e.isIn[i] && t.Graph.MayWait(t.Links[i], t.Links[end]) &&
			!slices.ContainsFunc(t.MayWaitFor(i), func(j index.Node) bool { return e.isIn[j] && !e.isEnd[j] })
	})
}
