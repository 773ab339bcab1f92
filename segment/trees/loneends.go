package trees

import (
	"slices"

	"github.com/giverny/giverny/internal/scratch"
)

// findLoneEnds marks the lone hot links behind which a chain of waiting seems to end: see isLoneEnd.
func (t *trees) findLoneEnds() {
	t.loneEnd = scratch.Slice(t.loneEnd, len(t.links))
	for i := range int32(len(t.links)) {
		t.loneEnd[i] = t.mayBeLoneEnd(i) && t.isLoneEnd(i)
	}
}

// mayBeLoneEnd reports whether no other link shows that traffic waits behind a link: it is a port to a host of a leaf
// to which no link from a switch stalls; or a link from a higher switch to one that no other such link stalls into, of
// which no port stalls and none on which traffic may go on, and not several hosts, as in an exchange. (Of a leaf's
// uplinks in an exchange, any may stall alone.)
func (t *trees) mayBeLoneEnd(i int32) bool {
	w, to := t.waits, t.to[i]
	if t.toHost(i) {
		return w.isLeaf(t.from[i]) && t.feeders[t.from[i]] == 0
	}
	goesOn := func(j int32) bool { return t.toHost(j) || w.mayWait(t.links[i], t.links[j]) }
	return t.leafOf(i) < 0 && t.feeders[to] == 1 && t.stalledHosts(to) <= 1 && !slices.ContainsFunc(t.leaving.of(to), goesOn)
}

// isLoneEnd reports whether other links explain all that may wait for a link better: back pressure does not grow away
// from where it begins, but most of what may wait for this link, and all but a few, stalls more; and each of those
// may wait for another link that stalls no less than itself (within the noise, unless this one is a port: it is more
// often a root), and clearly more than this one.
func (t *trees) isLoneEnd(end int32) bool {
	w, d := t.waits, t.from[end]
	below, above, within := 0, 0, 0.
	if !t.toHost(end) {
		within = pairSigmas
	}
	for _, i := range t.into.of(d) {
		if !w.mayWait(t.links[i], t.links[end]) {
			continue
		}
		if t.stall[i] <= t.stall[end] {
			below++
			continue
		}
		explains := func(j int32) bool {
			return t.stall[i]-t.stall[j] <= within*t.noise.sigma(t.stall[i]) && t.isClearlyAbove(t.stall[j], t.stall[end]) && w.mayWait(t.links[i], t.links[j])
		}
		if !slices.ContainsFunc(t.leaving.of(d), explains) {
			return false
		}
		above++
	}
	return below < minFeeders && above > below
}
