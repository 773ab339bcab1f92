package trees

import "math"

const (
	allHosts     = .9 // of a leaf, that stall where all of them exchange
	unlevelWays  = .2 // spread of ways up that is no one level's
	nearestLevel = .7 // below which levels are never near
	fewestLeaves = 2  // of a layer
)

func isNear(level, within, of float64) bool { return math.Abs(level-of) <= within }

// findSent finds the exchanges of which only what is sent stalls: the ways up of leaves and all of their hosts, at one level.
func (y *layers) findSent() {
	for i := 0; i < len(y.leaves); {
		if !y.leaves[i].isSender() {
			i++
			continue
		}
		sum, n := 0., 0
		j := i
		for ; j < len(y.leaves); j++ {
			x := &y.leaves[j]
			if !x.isSender() {
				continue
			}
			if n > 0 && !isNear(x.sent, x.up.within, sum/float64(n)) {
				break
			}
			sum, n = sum+x.up.middle, n+1
		}
		if level := sum / float64(n); n >= fewestLeaves && 3*y.sendingInPart(level) <= n {
			y.add(layer{sent: level, hosts: level}, i, j, (*leafLevels).isSender)
		}
		i = j
	}
}

// isSender reports whether of a leaf only what is sent stalls, all of it at one level.
func (x *leafLevels) isSender() bool {
	return x.up.isWide() && x.down.isIdle() && x.hosts.part >= allHosts && x.low > 0 &&
		math.Abs(x.up.middle-x.low) <= x.up.within+x.lowWithin() && x.up.spread <= unlevelWays*x.up.middle+lowPoints
}

// sendingInPart counts the leaves of which the ways up stall at a level, but not all hosts: they are a tree's.
func (y *layers) sendingInPart(level float64) (n int) {
	for k := range y.leaves {
		if x := &y.leaves[k]; x.up.isWide() && x.down.isIdle() && x.low == 0 && isNear(x.up.middle, x.up.within, level) {
			n++
		}
	}
	return n
}

// isExchanging reports whether both what a leaf sends and what comes to it stall, and no one port is what waits for.
func (x *leafLevels) isExchanging() bool {
	return x.up.isWide() && x.down.isWide() && (x.ports >= minFeeders || x.port < nearlyStalled*x.down.middle)
}

// findBoth finds the exchanges of which what is sent and what comes stall, each at one level: the largest first.
func (y *layers) findBoth() {
	for len(y.all) < mostLayers {
		best, most := -1, 0
		for k := range y.leaves {
			x := &y.leaves[k]
			if !x.isExchanging() || x.layers[0] != noLayer {
				continue
			}
			if n := y.countLike(k, x.sent, x.comes); n > most {
				best, most = k, n
			}
		}
		if most < fewestLeaves {
			break
		}
		y.addBoth(best)
	}
}

// countLike counts the leaves that are in no layer yet and that have the levels given; those of near levels are near in order.
func (y *layers) countLike(at int, sent, comes float64) (n int) {
	for k := at; k >= 0 && y.leaves[k].sent >= nearestLevel*sent-lowPoints; k-- {
		if y.isLike(k, sent, comes) {
			n++
		}
	}
	for k := at + 1; k < len(y.leaves) && nearestLevel*y.leaves[k].sent <= sent+lowPoints; k++ {
		if y.isLike(k, sent, comes) {
			n++
		}
	}
	return n
}

func (y *layers) isLike(k int, sent, comes float64) bool {
	x := &y.leaves[k]
	return x.isExchanging() && x.layers[0] == noLayer && isNear(x.sent, x.up.within, sent) && isNear(x.comes, x.down.within, comes)
}

// addBoth makes a layer of the leaves that have the levels of one.
func (y *layers) addBoth(at int) {
	x := layer{sent: y.leaves[at].sent, comes: y.leaves[at].comes}
	for range 2 { // around that leaf, then around their middle
		y.off, y.sample = y.off[:0], y.sample[:0]
		for k := range y.leaves {
			if y.isLike(k, x.sent, x.comes) {
				y.off, y.sample = append(y.off, y.leaves[k].sent), append(y.sample, y.leaves[k].comes)
			}
		}
		if len(y.off) < fewestLeaves {
			break
		}
		x.sent, x.comes = medianOf(y.off), medianOf(y.sample)
	}
	sent, comes := x.sent, x.comes
	if len(y.off) < fewestLeaves {
		sent, comes = y.leaves[at].sent, y.leaves[at].comes
	}
	y.add(x, 0, len(y.leaves), func(l *leafLevels) bool {
		return l.isExchanging() && isNear(l.sent, l.up.within, sent) && isNear(l.comes, l.down.within, comes)
	})
}

// add adds a layer of those of some leaves that are of it and of none yet.
func (y *layers) add(x layer, from, to int, isOf func(*leafLevels) bool) {
	name := int32(len(y.all))
	y.sample = y.sample[:0]
	for k := from; k < to; k++ {
		if l := &y.leaves[k]; l.layers[0] == noLayer && isOf(l) {
			l.layers[0] = name
			x.leaves++
			x.rough += (l.up.spread + l.down.spread) / (l.up.middle + l.down.middle)
			if l.low > 0 {
				y.sample = append(y.sample, l.low)
			} else if l.hosts.stalled > 0 {
				y.sample = append(y.sample, l.hosts.stalled)
			}
		}
	}
	if x.comes > 0 && 2*len(y.sample) > x.leaves {
		x.hosts = medianOf(y.sample)
	}
	y.all = append(y.all, x)
}
