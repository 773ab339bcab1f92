package trees

import (
	"slices"

	"github.com/giverny/giverny/segment/linkset"
)

// fewestToLeaf is how many links must wait for a slow link down to a leaf: with fewer it may be any hot link of an
// exchange.
const fewestToLeaf = 5

// findSlow marks the links between switches that may be roots of their own, beside any others at their switches:
// cables that lost rate or credits.
func (t *trees) findSlow() {
	for i := range t.links.len() {
		if !t.toHost(i) && !t.fromHost(i) && t.isSlow(i) {
			t.isLinkSink[i] = true
		}
	}
}

// isSlow reports whether nothing explains why a link between switches stalls. It is above what it may wait for, most
// of which was measured, and clearly above its siblings, and others wait for it. A link down to a leaf may wait for a
// port that is full but not stalled; other links into the leaf would wait then too, so it must be the only one, and more
// links must wait for it.
func (t *waiting) isSlow(i nodeID) bool {
	w, l, fewest := t.waits, t.links[i], minFeeders
	if w.isDown(l) && w.isLeaf(w.to[l]) {
		if t.feeders[w.to[l]] > 1 {
			return false
		}
		if !t.isOnlyWayOfSeveral(i) {
			fewest = fewestToLeaf
		}
	}
	return t.isAboveNext(i) && !t.isUnreadAfter(l) && t.standsOut(i) && t.isWaitedFor(i, fewest)
}

// isAboveNext reports whether a link is far above all that it may wait for, and no other link into the switch that it
// enters is above what it may wait for: else a port of that switch may be full, for which all of them wait.
func (t *waiting) isAboveNext(i nodeID) bool {
	stall, next := t.stall[i], t.hottest(i)
	if next > leanRatio*stall || !t.isClearlyAbove(stall, next) {
		return false
	}
	return !slices.ContainsFunc(t.into.of(t.to[i]), func(j nodeID) bool {
		return j != i && t.stall[j] > clearFactor*t.hottest(j)
	})
}

// isWaitedFor reports whether at least fewest links, which stand out among their siblings, may wait for a link, stall no
// more, and may wait for no sibling of it that explains them; and fewer stall more.
func (t *waiting) isWaitedFor(i nodeID, fewest int) bool {
	waiting, hotter, most := 0, 0, t.stall[i]+clearSigmas*t.noise.sigma(t.stall[i])
	for _, j := range t.into.of(t.from[i]) {
		switch {
		case !t.waits.mayWait(t.links[j], t.links[i]):
		case t.stall[j] > most:
			if !t.isOneSpine(t.from[i]) || !t.isExplainedBeside(j, i) {
				hotter++
			}
		case t.standsOut(j) && !t.isExplainedBeside(j, i):
			waiting++
		}
	}
	return waiting >= fewest && waiting > hotter
}

// isUnreadAfter reports whether most links that a link may wait for have no value, as those of a switch that was not
// read: what it waits for is unknown.
func (t *nodes) isUnreadAfter(l linkID) bool {
	all, unread := 0, 0
	for _, k := range t.waits.out.of(t.waits.to[l]) {
		if t.waits.mayWait(l, k) {
			all++
			if t.values[k] == linkset.Missing {
				unread++
			}
		}
	}
	return 2*unread > all
}

// isExplainedBeside reports whether a node may wait for another than the given one that stalls no less, within the noise.
func (t *waiting) isExplainedBeside(i, than nodeID) bool {
	return slices.ContainsFunc(t.mayWaitFor(i), func(j nodeID) bool {
		return j != than && t.stall[i]-t.stall[j] <= pairSigmas*t.noise.sigma(t.stall[i]) && !t.isElsewhere(i, j)
	})
}

// standsOut reports whether a link is clearly above at least half of its siblings, the links from its switch to the
// same level: what those wait for does not explain its stall. A host has only one link.
func (t *nodes) standsOut(i nodeID) bool {
	w, level := t.waits, t.waits.level[t.to[i]]
	alike, measured := 0, 0
	for _, j := range t.leaving.of(t.from[i]) {
		if j != i && w.level[t.to[j]] == level && !t.isClearlyAbove(t.stall[i], t.stall[j]) {
			alike++
		}
	}
	for _, k := range w.out.of(t.from[i]) {
		if k != t.links[i] && t.values[k] != linkset.Missing && w.level[w.to[k]] == level {
			measured++
		}
	}
	return 2*alike <= measured
}
