package trees

import (
	"cmp"
	"math"
	"slices"
)

const (
	// So many stalled ports, at two leaves or more, say how ports of an exchange differ, in logarithms by this deviation at least.
	fewestPeers, leastPeerSpread = 6, .05
)

// causePort is a port to a host, and the cause of what waits there.
type causePort struct{ cause, node int32 }

// findPeaks marks as roots of their own the ports of each exchange that stall clearly more than its others, at whichever leaf: at one
// leaf too few ports may stall to show what is usual, or as many roots as ports of the exchange. It reports whether there are any.
func (t *trees) findPeaks(s *sinks, c *causes) (isAny bool) {
	c.causePorts = c.causePorts[:0]
	for i := range int32(len(t.links)) {
		if t.port[i] && !t.odd[i] {
			c.causePorts = append(c.causePorts, causePort{c.sets.Find(s.at[t.sink[i]]), i})
		}
	}
	slices.SortFunc(c.causePorts, func(a, b causePort) int {
		return cmp.Or(cmp.Compare(a.cause, b.cause), cmp.Compare(t.stall[a.node], t.stall[b.node]))
	})
	for first, end := 0, 0; first < len(c.causePorts); first = end {
		for end = first; end < len(c.causePorts) && c.causePorts[end].cause == c.causePorts[first].cause; end++ {
		}
		if ports := c.causePorts[first:end]; t.areExchanging(ports) {
			isAny = t.markPeaks(ports) || isAny
		}
	}
	return isAny
}

// areExchanging reports whether ports of one cause are an exchange's: of two leaves or more, and to hosts most of which send, too.
func (t *trees) areExchanging(ports []causePort) bool {
	if len(ports) < fewestPeers {
		return false
	}
	sending, isElsewhere := 0, false
	for _, p := range ports {
		if t.sendsBack(p.node) {
			sending++
		}
		isElsewhere = isElsewhere || t.from[p.node] != t.from[ports[0].node]
	}
	return isElsewhere && 2*sending > len(ports)
}

// markPeaks marks those of ports, the least stalled first, that are clearly above their middle and the spread around it.
func (t *trees) markPeaks(ports []causePort) (isAny bool) {
	usual := t.stall[ports[(len(ports)-1)/2].node]
	t.sample = t.sample[:0]
	for _, p := range ports {
		t.sample = append(t.sample, t.stall[p.node])
	}
	least := usual * math.Exp(clearSigmas*max(leastPeerSpread, spreadOf(t.sample, usual)))
	for _, p := range ports {
		if t.isClearlyAbove(t.stall[p.node], usual) && t.stall[p.node] >= least {
			t.odd[p.node], t.isPeak[p.node], isAny = true, true, true
		}
	}
	return isAny
}
