package segment

import "math"

const (
	// Of what waits for some leaves, at least that part comes from these leaves themselves.
	closedShare = .6
	// So many levels, each of several leaves, say that there are as many exchanges.
	fewestLevels = 2
)

// joinClosed joins the leaves of a component at which links from switches wait and no root is seen, if what waits for them
// mostly comes from just these leaves, and each of them sends: whoever receives sends to the others, which is an exchange.
// Their levels need not be alike, since each host takes what comes at a rate of its own, unless they fall into several, each
// of several leaves, add up at one, or are far apart.
func (c *causes) joinClosed(t *trees, s *sinks, h *shares) {
	for first, end := 0, 0; first < len(s.all); first = end {
		for end = first + 1; end < len(s.all) && s.all[end].first == int32(first); end++ {
		}
		if c.listReceiving(s, int32(first), int32(end)) && c.isClosed(t, s, h) {
			for _, a := range c.met[1:] {
				c.sets.union(c.met[0], a)
			}
		}
	}
}

// listReceiving lists the leaves of a component that may be one exchange, and reports whether levels allow that.
func (c *causes) listReceiving(s *sinks, first, end int32) bool {
	c.met = c.met[:0]
	levels, least, most := 0, math.Inf(1), 0.
	for a := first; a < end; a++ {
		x := &s.all[a]
		if c.double[a][0] != noDouble {
			return false
		}
		if c.level.find(a) == a && c.levels[a].isExchange() {
			levels++
		}
		if x.isLeaf && x.fromSwitches >= minFeeders && !x.isTree() {
			c.met = append(c.met, a)
			least, most = min(least, x.stall), max(most, x.stall)
		}
	}
	return len(c.met) > 1 && levels < fewestLevels && least >= unevenRatio*most
}

// isClosed reports whether what waits for the leaves that are met comes from them, and from each of them.
func (c *causes) isClosed(t *trees, s *sinks, h *shares) bool {
	c.count, c.isMet = resize(c.count, len(c.weak)), resize(c.isMet, len(c.weak))
	clear(c.count)
	clear(c.isMet)
	for _, a := range c.met {
		c.isMet[c.sets.find(a)] = true
	}
	all, within := 0, 0
	for i := range int32(len(t.links)) {
		leaf, own := t.leafOf(i), h.main(i)
		if leaf < 0 || own < 0 || !c.isMet[own] || t.fromHost(i) && t.sink[i] >= 0 {
			continue
		}
		all++
		for _, a := range c.met {
			if s.all[a].device == leaf {
				within++
				c.count[a]++
			}
		}
	}
	for _, a := range c.met {
		if c.count[a] == 0 {
			return false
		}
	}
	return float64(within) >= closedShare*float64(all)
}
