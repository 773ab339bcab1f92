package trees

import (
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
)

// findLoneEnds marks the lone hot links behind which a chain of waiting seems to end.
func (t *waiting) findLoneEnds() {
	t.loneEnd = scratch.Slice(t.loneEnd, len(t.links))
	for i := range t.links.len() {
		t.loneEnd[i] = t.endsAlone(i) && t.raisesNothing(i) || t.onlyAggregates(i) || t.isBesideUplinks(i)
	}
}

// onlyAggregates reports whether a link leads to a switch's own aggregation node, which few send to, and all that may wait
// for it may also wait for other links that stall.
func (t *nodes) onlyAggregates(end nodeID) bool {
	w, d := t.waits, t.from[end]
	return w.aggregates[t.to[end]] && !slices.ContainsFunc(t.into.of(d), func(i nodeID) bool {
		isOther := func(j nodeID) bool { return j != end && w.mayWait(t.links[i], t.links[j]) }
		return w.mayWait(t.links[i], t.links[end]) && !slices.ContainsFunc(t.leaving.of(d), isOther)
	})
}

// goesOn reports whether a link stalls on which the traffic of another may go on.
func (t *nodes) goesOn(i nodeID) bool {
	return !t.toHost(i) && slices.ContainsFunc(t.leaving.of(t.to[i]), func(j nodeID) bool {
		return t.toHost(j) || t.waits.mayWait(t.links[i], t.links[j])
	})
}

// endsAlone reports whether a link down from a higher switch is the only stalled one down into its far end, an
// aggregation node or a switch where nothing stalls on which its traffic may go on.
func (t *nodes) endsAlone(i nodeID) bool {
	w := t.waits
	if t.fromHost(i) || w.isLeaf(t.from[i]) || w.isUp(t.links[i]) || t.goesOn(i) {
		return false
	}
	comesToo := func(j nodeID) bool { return j != i && !t.fromHost(j) && !w.isUp(t.links[j]) }
	return t.toHost(i) || !slices.ContainsFunc(t.into.of(t.to[i]), comesToo)
}

// fewestRaised is how many links show that traffic waits for a link: a single one may be hot by chance.
const fewestRaised = 2

// raisesNothing reports whether nothing shows that traffic waits for a link: of those that may wait for it, most lead
// up, or all may wait for others that stall clearly more, and fewer than fewestRaised of those that lead up are clearly above
// all of their siblings, the links from their switch to others of the same level, which do not lead to this one.
func (t *nodes) raisesNothing(end nodeID) bool {
	w, d := t.waits, t.from[end]
	all, up, raised := 0, 0, 0
	for _, i := range t.into.of(d) {
		if !w.mayWait(t.links[i], t.links[end]) {
			continue
		}
		all++
		if t.fromHost(i) || !w.isUp(t.links[i]) {
			continue
		}
		if most := t.mostBeside(i); most >= 0 {
			up++
			if t.isClearlyAbove(t.stall[i], most) {
				raised++
			}
		}
	}
	return raised < fewestRaised && (up >= minFeeders && 2*up > all || t.isOutshone(end))
}

// isOutshone reports whether all that may wait for a link may also wait for one that stalls clearly more, and does not end
// alone.
func (t *nodes) isOutshone(end nodeID) bool {
	w, d := t.waits, t.from[end]
	return !slices.ContainsFunc(t.into.of(d), func(i nodeID) bool {
		isOther := func(j nodeID) bool {
			return w.mayWait(t.links[i], t.links[j]) && t.isClearlyAbove(t.stall[j], t.stall[end]) && !t.endsAlone(j)
		}
		return w.mayWait(t.links[i], t.links[end]) && !slices.ContainsFunc(t.leaving.of(d), isOther)
	})
}

// mostBeside is the highest reading of the siblings of a link, or -1 if none was read.
func (t *nodes) mostBeside(i nodeID) float64 {
	w, d, most := t.waits, t.to[i], float32(linkset.Missing)
	for _, k := range w.out.of(t.from[i]) {
		if w.to[k] != d && w.level[w.to[k]] == w.level[d] {
			most = max(most, t.values[k])
		}
	}
	return float64(most)
}

// isBesideUplinks reports whether a link is the only stalled port of a leaf where nothing waits but hosts, its own among them, and
// the uplinks explain these: half or more stall, about as much as the port or more, and no host clearly more.
func (t *nodes) isBesideUplinks(i nodeID) bool {
	d := t.from[i]
	if !t.toHost(i) || !t.waits.isLeaf(d) || !t.waitsToSend(t.to[i]) || t.stalledInto(d) > t.stalledHosts(d) {
		return false
	}
	n, sum := 0., 0.
	for _, j := range t.leaving.of(d) {
		if t.toHost(j) && j != i {
			return false
		}
		if !t.toHost(j) {
			n, sum = n+1, sum+t.stall[j]
		}
	}
	isAbove := func(j nodeID) bool { return t.isClearlyAbove(t.stall[j], sum/n) }
	return n > 1 && 2*n >= float64(t.measuredUp(d)) && sum >= n*aboutAsMuch*t.stall[i] && !slices.ContainsFunc(t.into.of(d), isAbove)
}
