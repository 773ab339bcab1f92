package trees

import "math"

const (
	// Leaves without a visible receiver that show how much waits at one, and links from switches that wait at each.
	fewestAlike, fewestAlikeLinks = 8, 2
	// How much more waits if a receiver is the reason, in standard deviations of the logarithms of those; the least
	// deviation.
	mostAlike, leastAlikeSpread = 1.5, .2
)

// waitsAlike reports whether a stalled port of a leaf is not the reason that other links wait there: no more waits
// than at many other leaves of the component, which have no such port. Of the many leaves of an exchange a few have a
// port that is hot alone; where a receiver is the reason, more waits than the exchange explains.
func (s *sinks) waitsAlike(x *sink) bool {
	n, sum, squares := 0., 0., 0.
	for a := x.first; int(a) < len(s.all) && s.all[a].first == x.first; a++ {
		y := &s.all[a]
		if !y.isLeaf || y.link >= 0 || y.isReceiver || y.fromSwitches < fewestAlikeLinks {
			continue
		}
		level := math.Log(y.stall)
		n, sum, squares = n+1, sum+level, squares+level*level
	}
	if n < fewestAlike {
		return false
	}
	mean := sum / n
	spread := max(leastAlikeSpread, math.Sqrt(max(0, squares/n-mean*mean)))
	return math.Log(x.stall) <= mean+mostAlike*spread
}
