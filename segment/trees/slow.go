package trees

import "github.com/giverny/giverny/segment/linkset"

// rivalShare is the share of a link's stall from which another link into the same switch waits for the same.
const rivalShare = .6

// fewestToLeaf is how many links must wait for a slow link down to a leaf: with fewer it may be any hot link of an
// exchange.
const fewestToLeaf = 5

// findSlow marks the links between switches that may be roots of their own, beside any others at their switches:
// cables that lost rate or credits.
func (t *trees) findSlow() {
	for i, l := range t.links {
		if !t.waits.toHost(l) && !t.waits.fromHost(l) && t.isSlow(int32(i)) {
			t.odd[i] = true
		}
	}
}

// isSlow reports whether nothing explains why a link between switches stalls. It is far above all that it may wait
// for and clearly above its siblings; no other link into the switch that it enters waits likewise; and at least three
// links, which stand out among their siblings too, may wait for it and stall no more. A link down to a leaf may wait
// for a port that is full but not stalled; other links into the leaf would wait then too, so it must be the only one,
// and more links must wait for it. A link up from a leaf need only be clearly above, if no other link into that
// switch stalls about as much.
func (t *trees) isSlow(i int32) bool {
	w, l, stall := t.waits, t.links[i], t.stall[i]
	fewest := minFeeders
	if w.isDown(l) && w.isLeaf(w.to[l]) {
		if t.feeders[w.to[l]] > 1 {
			return false
		}
		fewest = fewestToLeaf
	}
	isFar := stall >= unexplainedFactor*t.hottest(i)
	if !isFar && t.leafOf(i) < 0 || !t.isClearlyAbove(stall, t.hottest(i)) || !t.standsOut(i) {
		return false
	}
	for _, j := range t.into.of(w.to[l]) {
		if j != i && t.stall[j] >= rivalShare*stall && (!isFar || t.stall[j] > clearFactor*t.hottest(j)) {
			return false
		}
	}
	waiting, hotter, most := 0, 0, stall+clearSigmas*t.noise.sigma(stall)
	for _, j := range t.into.of(w.from[l]) {
		switch {
		case !w.mayWait(t.links[j], l):
		case t.stall[j] > most:
			hotter++
		case t.standsOut(j):
			waiting++
		}
	}
	return waiting >= fewest && waiting > hotter
}

// standsOut reports whether a link is clearly above at least half of its siblings, the links from its switch to the
// same level: what those wait for does not explain its stall. A host has only one link.
func (t *trees) standsOut(i int32) bool {
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
