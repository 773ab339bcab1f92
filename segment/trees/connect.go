package trees

import (
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
)

// connect lists, for every node, the nodes that it may wait for. If there are none, it looks through unmeasured
// links (a switch that reports nothing), or else past links whose readings may have failed.
func (t *waiting) connect() {
	t.list, t.peak = scratch.Slice(t.list, len(t.links)), t.peak[:0]
	t.next.off, t.next.at = append(t.next.off[:0], 0), t.next.at[:0]
	t.findLoneEnds()
	for _, d := range t.entered {
		all, hasGaps := noList, t.hasGaps(d)
		for _, i := range t.into.of(d) {
			waitsForAll := t.waitsForAll(i)
			if waitsForAll && all != noList {
				t.list[i] = all
				continue
			}
			t.list[i] = listID(len(t.peak))
			t.appendList(t.links[i], hasGaps)
			t.next.off = append(t.next.off, int32(len(t.next.at)))
			t.peak = append(t.peak, t.mostStalled(t.mayWaitFor(i)))
			if waitsForAll {
				all = t.list[i]
			}
		}
	}
	t.connectBehindUnread()
}

const noList = listID(-1)

// waitsForAll reports whether a node is a link from a host that may wait for any link out of its leaf, as other hosts
// there do.
func (t *nodes) waitsForAll(i nodeID) bool {
	from, to := t.from[i], t.to[i]
	return t.waits.level[from] == 0 && t.waits.level[to] > 0 && t.fromHost(i) && t.stalledInto(from) == 0
}

// hasGaps reports whether a link from a switch to another switch is unmeasured.
func (t *nodes) hasGaps(d deviceID) bool {
	return slices.ContainsFunc(t.waits.out.of(d), func(l linkID) bool { return t.values[l] == linkset.Missing && !t.waits.toHost(l) })
}

// appendList appends what the node of link l may wait for; hasGaps is that of the switch that l enters.
func (t *waiting) appendList(l linkID, hasGaps bool) {
	t.appendNext(l, l)
	t.dropAway(l)
	if hasGaps && !t.hasNext() {
		t.lookThrough(l)
	}
}

// mostStalled returns the most stalled node, or -1.
func (t *nodes) mostStalled(nodes []nodeID) nodeID {
	best := nodeID(-1)
	for _, j := range nodes {
		if best < 0 || t.stall[j] > t.stall[best] || t.stall[j] == t.stall[best] && t.isHotter(j, best) {
			best = j
		}
	}
	return best
}

// hasNext reports whether the list that connect is building has any node.
func (t *waiting) hasNext() bool { return int(t.next.off[len(t.next.off)-1]) < len(t.next.at) }

// mayWaitFor lists the nodes that a node may wait for, even if the node waits at a sink.
func (t *waiting) mayWaitFor(i nodeID) []nodeID { return t.next.of(t.list[i]) }

// appendNext appends the nodes after link l, on behalf of the node of link first.
func (t *waiting) appendNext(l, first linkID) {
	w := t.waits
	if w.toHost(l) {
		return
	}
	for _, j := range t.leaving.of(w.to[l]) {
		s := t.links[j]
		if !w.mayWait(l, s) || t.loneEnd[j] {
			continue
		}
		if l != first && (w.to[s] == w.to[first] || t.stalledInto(w.from[s]) < minFeeders && (w.toHost(s) || t.stalledInto(w.to[s]) < minFeeders)) {
			continue // a lone hot link behind an unmeasured one
		}
		t.next.at = append(t.next.at, j)
	}
}

// dropAway drops, from what a link from another group of a dragonfly may wait for, the links to further groups, if there
// are others: as groups have cables of their own, few routes pass a third group.
func (t *waiting) dropAway(l linkID) {
	if !t.waits.isBetweenGroups(l) {
		return
	}
	list := t.next.at[t.next.off[len(t.next.off)-1]:]
	kept := 0
	for _, j := range list {
		if !t.waits.isBetweenGroups(t.links[j]) {
			list[kept] = j
			kept++
		}
	}
	if kept > 0 {
		t.next.at = t.next.at[:len(t.next.at)-len(list)+kept]
	}
}

// lookThrough appends the nodes behind the unmeasured links that link l may wait for: if several measured links wait to
// enter the same switch as one of these, none behind those whose measured siblings are all calm.
func (t *waiting) lookThrough(l linkID) {
	w := t.waits
	if w.toHost(l) {
		return
	}
	isUnread := func(s linkID) bool {
		return t.values[s] == linkset.Missing && !w.toHost(s) && w.mayWait(l, s) && (!w.isUp(s) || t.hasGapsUp(w.to[l]))
	}
	isKnown := slices.ContainsFunc(w.out.of(w.to[l]), func(s linkID) bool { return isUnread(s) && t.feeders[w.to[s]] >= minFeeders })
	for _, s := range w.out.of(w.to[l]) {
		if !isUnread(s) || isKnown && t.feeders[w.to[s]] == 0 {
			continue
		}
		t.appendNext(s, l)
	}
}

// hasGapsUp reports whether half of a switch's uplinks are unmeasured. Traffic is spread over all uplinks, so if
// fewer are unmeasured, the measured ones would stall too.
func (t *nodes) hasGapsUp(d deviceID) bool {
	blind, up := 0, 0
	for _, s := range t.waits.out.of(d) {
		if t.waits.isUp(s) {
			up++
			if t.values[s] == linkset.Missing {
				blind++
			}
		}
	}
	return 2*blind >= up
}
