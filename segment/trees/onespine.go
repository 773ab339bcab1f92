package trees

import (
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
)

// On a fabric of two levels, traffic to a leaf takes all spines, or each flow one of them, any. If uplinks stall far more
// than the others of their leaf, and most of them lead to one spine, they wait for a slow cable of that spine, not for a
// tree to which other spines lead, too.

// spineSigmas is by how many deviations of a Poisson distribution such uplinks to one spine must exceed those to the usual
// one.
const spineSigmas = 3

// countSingles counts, by spine, the uplinks of leaves that stand out.
func (t *nodes) countSingles() {
	if !t.isTwoLevel {
		return
	}
	t.singles = scratch.Zeroed(t.singles, len(t.seen))
	for d := range t.seen.len() {
		if t.waits.isLeaf(d) {
			t.countSinglesAt(d)
		}
	}
	t.sample = t.sample[:0]
	for d, n := range t.singles {
		if t.waits.level[d] == 2 {
			t.sample = append(t.sample, n)
		}
	}
	if t.usualSingles = 0; len(t.sample) > 0 { // a single switch has no spines
		slices.Sort(t.sample)
		t.usualSingles = t.sample[(len(t.sample)-1)/2] // the median of the others than a spine above it
	}
}

// countSinglesAt counts those of a leaf: if its hottest uplink does not stand out, none does.
func (t *nodes) countSinglesAt(leaf deviceID) {
	hottest := nodeID(-1)
	for _, i := range t.leaving.of(leaf) {
		if t.isUpFromLeaf(i) && (hottest < 0 || t.stall[i] > t.stall[hottest]) {
			hottest = i
		}
	}
	if hottest < 0 || !t.standsOut(hottest) {
		return
	}
	for _, i := range t.leaving.of(leaf) {
		if t.isUpFromLeaf(i) && t.standsOut(i) {
			t.singles[t.to[i]]++
		}
	}
}

// isOneSpine reports whether far more uplinks that stand out lead to a switch than to the usual spine.
func (t *nodes) isOneSpine(d deviceID) bool {
	return t.isTwoLevel && t.singles[d] >= minFeeders && t.singles[d]-t.usualSingles >= spineSigmas*math.Sqrt(max(.5, t.usualSingles))
}

// isElsewhere reports whether an uplink does not wait for a link down from its spine, as others of its leaf would wait for
// the same tree.
func (t *nodes) isElsewhere(i, down nodeID) bool {
	return t.isUpFromLeaf(i) && t.isOneSpine(t.to[i]) && t.comesOverAll(down) && t.standsOut(i)
}

// comesOverAll reports whether a link leads down to a leaf to which links of most spines stall.
func (t *nodes) comesOverAll(i nodeID) bool {
	return t.waits.isLeaf(t.to[i]) && t.allFeedersStall(t.to[i])
}

// isOnlyWayOfSeveral reports whether a link may be a slow cable of one spine, which also leads to a tree that comes over
// all spines.
func (t *nodes) isOnlyWayOfSeveral(i nodeID) bool {
	return t.isOneSpine(t.from[i]) && slices.ContainsFunc(t.leaving.of(t.from[i]), t.comesOverAll)
}

func (t *nodes) isUpFromLeaf(i nodeID) bool {
	return t.waits.isLeaf(t.from[i]) && t.waits.isUp(t.links[i])
}
