package trees

import "math"

const (
	// Leaves without a receiver that say how much waits at one, and links from switches that wait there at least.
	fewestAlike, fewestAlikeLinks = 8, 2
	// In deviations of the logarithms of what waits at those: by how much it is more where a receiver is why. The least deviation.
	mostAlike, leastAlikeSpread = 1.5, .2
)

// waitsAlike reports whether a port of a leaf is not why others wait there, though it stalls: no more waits than at many other leaves of
// the component, at which no such port stalls. Of the many leaves of an exchange one or the other has a port that is hot alone; where a
// receiver is why, more waits than the exchange explains.
func (s *sinks) waitsAlike(x *sink) bool {
	if x.odd >= 0 {
		return false
	}
	n, sum, squares := 0., 0., 0.
	for a := x.first; int(a) < len(s.all) && s.all[a].first == x.first; a++ {
		y := &s.all[a]
		if !y.isLeaf || y.odd >= 0 || y.isReceiver || y.fromSwitches < fewestAlikeLinks {
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
