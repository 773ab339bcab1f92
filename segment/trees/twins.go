package trees

import "math"

const (
	// Of two ports that are roots, the cooler one stalls at least that part of the other: else it may be hot alone.
	twinShare = .25
	// By how many deviations one of two twins explains a link better than the other where it waits for that one alone.
	twinCost = 4
)

// areTwins reports whether a tree begins at each of the two ports to hosts that stall at a switch: hosts pass nothing on, so that no
// tree has two such ports, and of an exchange both hosts send. Where what waits stalls more than the ports, or as much while one of
// the hosts sends, they may be an exchange's, or the second may be hot alone. Two links may be all that waits.
func (t *trees) areTwins(d int32) bool {
	hotter, cooler, ports := 0., math.Inf(1), 0
	for _, i := range t.leaving.of(d) {
		if t.toHost(i) {
			hotter, cooler, ports = max(hotter, t.stall[i]), min(cooler, t.stall[i]), ports+1
		}
	}
	if ports != 2 || t.stalledInto(d) < 2 || cooler < twinShare*hotter || !t.isClearlyAbove(cooler, 0) {
		return false
	}
	switch t.sendingPorts(d) {
	case 0:
		return cooler >= portShare*t.middleInto(d)
	case 1:
		return cooler >= clearFactor*t.middleInto(d)
	}
	return false
}

// middleInto is the median of what links into a switch stall.
func (t *trees) middleInto(d int32) float64 {
	t.sample = t.sample[:0]
	for _, i := range t.into.of(d) {
		t.sample = append(t.sample, t.stall[i])
	}
	return medianOf(t.sample)
}

// withTwins adds to a set of a node's causes the twin of each that is one, if that explains the node about as well: stall does not
// show then for which of the two it waits.
func (h *shares) withTwins(s *sinks, i int32, set uint) uint {
	all, list := set, h.of[i].list()
	for k, p := range list {
		if set>>k&1 == 0 || !s.isTwin(p.cause) {
			continue
		}
		for j, q := range list {
			isOther := set>>j&1 == 0 && s.isTwin(q.cause) && s.all[p.cause].device == s.all[q.cause].device
			if isOther && h.costs[set&^(1<<k)|1<<j] <= h.costs[set]+twinCost {
				all |= 1 << j
			}
		}
	}
	return all
}

// isTwin reports whether a cause begins at one of two twins.
func (s *sinks) isTwin(cause int32) bool { return int(cause) < len(s.all) && s.all[cause].isTwin }
