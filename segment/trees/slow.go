package trees

import "github.com/giverny/giverny/segment/linkset"

// rivalShare is the part of its stall at which another link into the same switch waits for the same.
const rivalShare = .6

// fewestToLeaf is how many links wait at least for one that is slow and comes down to a leaf: where few do, it may be any that is hot in
// an exchange.
const fewestToLeaf = 5

// findSlow finds the links between switches that may be roots of their own, beside whatever else begins at their switches: cables
// that lost rate or credits.
func (t *trees) findSlow() {
	for i, l := range t.links {
		if !t.waits.toHost(l) && !t.waits.fromHost(l) && t.isSlow(int32(i)) {
			t.odd[i] = true
		}
	}
}

// isSlow reports whether nothing shows why a link between switches stalls: it is far above all that it may wait for and clearly above
// its siblings, no other link into the switch that it enters waits likewise, and three links that may wait for it, which stand out
// among their siblings as well, stall no more. What comes down to a leaf may wait for a port that is full and does not stall: then others
// into the leaf wait, too, so that it must be the only one, and more must wait for it. Of a link that leaves a leaf it is enough that it is
// clearly above, if no other into that switch stalls about as much.
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

// standsOut reports whether a link is clearly above half of those that leave its switch for the same level: what those wait for is not
// why it stalls. A host has only one.
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
