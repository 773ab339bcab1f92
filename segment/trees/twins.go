package trees

import (
	"math"

	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

const (
	// The less stalled of two ports that are roots stalls at least that share of the other: else it may be hot alone.
	twinShare = .25
	// How many standard deviations better one twin must explain a link than the other, for the link to wait for that
	// one alone.
	twinCost = 4
)

// areTwins reports whether a tree begins at each of the two stalled ports to hosts of a switch: hosts forward
// nothing, so no tree has two such ports, and in an exchange both hosts send. If the links that wait stall more than
// the ports, or as much while one of the hosts sends, the ports may be an exchange's, or one may be hot alone. Two
// waiting links are enough.
func (t *trees) areTwins(d index.Device) bool {
	hotter, cooler, ports := 0., math.Inf(1), 0
	for _, i := range t.Leaving.Of(d) {
		if t.ToHost(i) {
			hotter, cooler, ports = max(hotter, t.Stall[i]), min(cooler, t.Stall[i]), ports+1
		}
	}
	if ports != 2 || t.StalledInto(d) < 2 || cooler < twinShare*hotter || !t.IsClearlyAbove(cooler, 0) {
		return false
	}
	switch t.sendingPorts(d) {
	case 0:
		return cooler >= backpressure.PortShare*t.MiddleInto(d)
	case 1:
		return cooler >= backpressure.ClearFactor*t.MiddleInto(d)
	}
	return false
}

// withTwins adds, to a set of a node's causes, the twin of each cause in it if that explains the node about as well:
// stall then does not show which of the two the node waits for.
func (h *shares) withTwins(s *sinks, i index.Node, set uint) uint {
	all, list := set, h.of[i].list()
	for k, p := range list {
		if set>>k&1 == 0 || !s.isTwin(p.cause) {
			continue
		}
		for j, q := range list {
			isOther := set>>j&1 == 0 && s.isTwin(q.cause) && s.deviceOf(p.cause) == s.deviceOf(q.cause)
			if isOther && h.costs[set&^(1<<k)|1<<j] <= h.costs[set]+twinCost {
				all |= 1 << j
			}
		}
	}
	return all
}

// isTwin reports whether a cause begins at a twin port.
func (s *sinks) isTwin(cause causeID) bool {
	a, isPort := s.sinkOf(cause)
	return !isPort && s.all[a].isTwin
}
