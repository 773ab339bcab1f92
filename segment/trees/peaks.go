package trees

import (
	"cmp"
	"math"
	"slices"
)

const (
	// fewestPeers is the least number of stalled ports, at two leaves or more, to estimate how an exchange's ports vary;
	// leastPeerSpread is the least standard deviation of their logarithms.
	fewestPeers, leastPeerSpread = 6, .05
)

// causePort is a port to a host, and the cause of what waits there.
type causePort struct {
	cause causeID
	node  nodeID
}

// findPeaks marks ports that stall clearly more than the other ports of their exchange, at any leaf, as roots of
// their own. A single leaf may have too few stalled ports to show the usual level, or as many roots as exchange
// ports. It reports whether there are any.
func (t *trees) findPeaks(s *sinks, c *causes) (isAny bool) {
	c.causePorts = c.causePorts[:0]
	for i := range t.links.len() {
		if t.port[i] && !t.isLinkSink[i] {
			c.causePorts = append(c.causePorts, causePort{c.causeOf(s.byPlace[t.sink[i]]), i})
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

// areExchanging reports whether ports of one cause belong to an exchange: they are at two leaves or more, and most of
// their hosts also send.
func (t *nodes) areExchanging(ports []causePort) bool {
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

// markPeaks marks the ports, sorted by stall, that are clearly above the median and the spread around it.
func (t *trees) markPeaks(ports []causePort) (isAny bool) {
	usual := t.stall[ports[(len(ports)-1)/2].node]
	t.sample = t.sample[:0]
	for _, p := range ports {
		t.sample = append(t.sample, t.stall[p.node])
	}
	least := usual * math.Exp(clearSigmas*max(leastPeerSpread, spreadOf(t.sample, usual)))
	for _, p := range ports {
		if t.isClearlyAbove(t.stall[p.node], usual) && t.stall[p.node] >= least {
			t.isLinkSink[p.node], t.isPeak[p.node], isAny = true, true, true
		}
	}
	return isAny
}
