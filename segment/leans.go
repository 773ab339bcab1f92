package segment

import "slices"

// Where stall comes from a full buffer, it need not fall upstream: the last link to the root carries the greatest share
// of what the root takes and so waits least. So what is far hotter than all that it waits for may still begin elsewhere.
const (
	// Of a link's stall, that of the one that it waits for, from which it is no root.
	leanRatio = .4
	// More than that part of the links at which a cause ends wait for the other cause.
	leanShare = .75
	// Stall of the siblings of a link without a value, as a share of that of what waits for it: they feed one root.
	leastBeyond, mostBeyond = .75, 2
)

// joinLeaning joins a cause with the one that it begins at: a port that waits itself is no root. So where most of the
// links of a cause that wait for no other of it may wait for one of another cause that stalls about as much, or for a link
// without a value beside such, both are one, and its own sinks are no roots.
func (c *causes) joinLeaning(t *trees, s *sinks, h *shares) (joined bool) {
	c.votes, c.count = c.votes[:0], resize(c.count, len(c.weak))
	clear(c.count)
	for i := range int32(len(t.links)) {
		own, j := h.main(i), t.hottestAfter(i)
		if own < 0 || j >= 0 && h.of[j].has(own) || h.waitsWithin(t, i, own) {
			continue
		}
		c.count[own]++
		if j < 0 || t.stall[j] < leanRatio*t.stall[i] {
			j = t.hottestBeyondMissing(i)
		}
		if j >= 0 && t.stall[j] >= leanRatio*t.stall[i] && h.main(j) >= 0 {
			c.votes = append(c.votes, vote{own, h.main(j), 1})
		}
	}
	c.tallyVotes()
	for _, v := range c.tally {
		if float64(v.n) <= leanShare*float64(c.count[v.cause]) || c.sets.find(v.cause) == c.sets.find(v.beside) {
			continue
		}
		c.markLeaning(s, c.sets.find(v.cause))
		c.sets.union(v.cause, v.beside)
		joined = true
	}
	return joined
}

// markLeaning takes down that the sinks of a cause are no roots.
func (c *causes) markLeaning(s *sinks, cause int32) {
	for a := range s.all {
		s.all[a].leans = s.all[a].leans || c.sets.find(int32(a)) == cause
	}
}

// waitsWithin reports whether a node may wait for another of a cause.
func (h *shares) waitsWithin(t *trees, i, cause int32) bool {
	return slices.ContainsFunc(t.mayWaitFor(i), func(j int32) bool { return h.of[j].has(cause) })
}

// hottestBeyondMissing is the most stalled node that enters the same device as a link without a value that a node may
// wait for and stalls as much as that, or -1: what waits for such a link waits for what its siblings wait for.
func (t *trees) hottestBeyondMissing(i int32) int32 {
	best := int32(-1)
	for _, l := range t.waits.out.of(t.to[i]) {
		if t.values[l] != missing || !t.waits.mayWait(t.links[i], l) {
			continue
		}
		for _, j := range t.into.of(t.waits.to[l]) {
			if share := t.stall[j] / t.stall[i]; leastBeyond <= share && share <= mostBeyond && (best < 0 || t.stall[j] > t.stall[best]) {
				best = j
			}
		}
	}
	return best
}
