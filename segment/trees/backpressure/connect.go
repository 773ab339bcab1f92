package backpressure

import (
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/index"
)

// Connect lists, for every node, the nodes that it may wait for. If there are none, it looks through unmeasured
// links (a switch that reports nothing), or else past links whose readings may have failed.
func (t *Waits) Connect() {
	t.List, t.peak = scratch.Slice(t.List, len(t.Links)), t.peak[:0]
	t.Next.Off, t.Next.At = append(t.Next.Off[:0], 0), t.Next.At[:0]
	t.findLoneEnds()
	for _, d := range t.Entered {
		all, hasGaps := noList, t.hasGaps(d)
		for _, i := range t.Into.Of(d) {
			waitsForAll := t.waitsForAll(i)
			if waitsForAll && all != noList {
				t.List[i] = all
				continue
			}
			t.List[i] = ListID(len(t.peak))
			t.appendList(t.Links[i], hasGaps)
			t.Next.Off = append(t.Next.Off, int32(len(t.Next.At)))
			t.peak = append(t.peak, t.mostStalled(t.MayWaitFor(i)))
			if waitsForAll {
				all = t.List[i]
			}
		}
	}
	t.connectBehindUnread()
}

// ListID is a list of nodes to wait for: an index of Waits.Next.
type ListID int32

// MostHops is how many hops traffic takes at most; more are a cycle.
const MostHops = 8

const noList = ListID(-1)

// waitsForAll reports whether a node is a link from a host that may wait for any link out of its leaf, as other hosts
// there do.
func (t *Nodes) waitsForAll(i index.Node) bool {
	from, to := t.From[i], t.To[i]
	return t.Graph.Level[from] == 0 && t.Graph.Level[to] > 0 && t.FromHost(i) && t.StalledInto(from) == 0
}

// hasGaps reports whether a link from a switch to another switch is unmeasured.
func (t *Nodes) hasGaps(d index.Device) bool {
	return slices.ContainsFunc(t.Graph.Out.Of(d), func(l index.Link) bool { return t.Values[l] == linkset.Missing && !t.Graph.ToHost(l) })
}

// appendList appends what the node of link l may wait for; hasGaps is that of the switch that l enters.
func (t *Waits) appendList(l index.Link, hasGaps bool) {
	t.appendNext(l, l)
	t.dropAway(l)
	if hasGaps && !t.hasNext() {
		t.lookThrough(l)
	}
}

// mostStalled returns the most stalled node, or -1.
func (t *Nodes) mostStalled(nodes []index.Node) index.Node {
	best := index.Node(-1)
	for _, j := range nodes {
		if best < 0 || t.Stall[j] > t.Stall[best] || t.Stall[j] == t.Stall[best] && t.IsHotter(j, best) {
			best = j
		}
	}
	return best
}

// hasNext reports whether the list that connect is building has any node.
func (t *Waits) hasNext() bool { return int(t.Next.Off[len(t.Next.Off)-1]) < len(t.Next.At) }

// MayWaitFor lists the nodes that a node may wait for, even if the node waits at a sink.
func (t *Waits) MayWaitFor(i index.Node) []index.Node { return t.Next.Of(t.List[i]) }

// appendNext appends the nodes after link l, on behalf of the node of link first.
func (t *Waits) appendNext(l, first index.Link) {
	w := t.Graph
	if w.ToHost(l) {
		return
	}
	for _, j := range t.Leaving.Of(w.To[l]) {
		s := t.Links[j]
		if !w.MayWait(l, s) || t.loneEnd[j] {
			continue
		}
		if l != first && (w.To[s] == w.To[first] || t.StalledInto(w.From[s]) < MinFeeders && (w.ToHost(s) || t.StalledInto(w.To[s]) < MinFeeders)) {
			continue // a lone hot link behind an unmeasured one
		}
		t.Next.At = append(t.Next.At, j)
	}
}

// dropAway drops, from what a link from another group of a dragonfly may wait for, the links to further groups, if there
// are others: as groups have cables of their own, few routes pass a third group.
func (t *Waits) dropAway(l index.Link) {
	if !t.Graph.IsBetweenGroups(l) {
		return
	}
	list := t.Next.At[t.Next.Off[len(t.Next.Off)-1]:]
	kept := 0
	for _, j := range list {
		if !t.Graph.IsBetweenGroups(t.Links[j]) {
			list[kept] = j
			kept++
		}
	}
	if kept > 0 {
		t.Next.At = t.Next.At[:len(t.Next.At)-len(list)+kept]
	}
}

// lookThrough appends the nodes behind the unmeasured links that link l may wait for: if several measured links wait to
// enter the same switch as one of these, none behind those whose measured siblings are all calm.
func (t *Waits) lookThrough(l index.Link) {
	w := t.Graph
	if w.ToHost(l) {
		return
	}
	isUnread := func(s index.Link) bool {
		return t.Values[s] == linkset.Missing && !w.ToHost(s) && w.MayWait(l, s) && (!w.IsUp(s) || t.hasGapsUp(w.To[l]))
	}
	isKnown := slices.ContainsFunc(w.Out.Of(w.To[l]), func(s index.Link) bool { return isUnread(s) && t.Feeders[w.To[s]] >= MinFeeders })
	for _, s := range w.Out.Of(w.To[l]) {
		if !isUnread(s) || isKnown && t.Feeders[w.To[s]] == 0 {
			continue
		}
		t.appendNext(s, l)
	}
}

// hasGapsUp reports whether half of a switch's uplinks are unmeasured. Traffic is spread over all uplinks, so if
// fewer are unmeasured, the measured ones would stall too.
func (t *Nodes) hasGapsUp(d index.Device) bool {
	blind, up := 0, 0
	for _, s := range t.Graph.Out.Of(d) {
		if t.Graph.IsUp(s) {
			up++
			if t.Values[s] == linkset.Missing {
				blind++
			}
		}
	}
	return 2*blind >= up
}
