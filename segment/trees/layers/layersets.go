package layers

import (
	"math"

	"github.com/giverny/giverny/internal/median"
	"github.com/giverny/giverny/segment/trees/backpressure"
)

const (
	nearestLevel = .7 // ratio below which levels are never near
	fewestLeaves = 2  // of a layer
)

// isNear reports whether a level is another within a tolerance.
func isNear(level, within, of float64) bool { return math.Abs(level-of) <= within }

// isExchanging reports whether both what a leaf sends and what it receives stall, and no single port explains the
// latter.
func (x *leafLevels) isExchanging() bool {
	return x.up.isWide() && x.down.isWide() && (x.ports >= backpressure.MinFeeders || x.port < nearlyStalled*x.down.middle)
}

// find finds the exchanges whose sent and received traffic stalls, each at one level: the largest first.
func (y *Layers) find() {
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
		y.add(best)
	}
}

// countLike counts the leaves of no layer yet at the given levels; leaves are sorted by level, so it stops early.
func (y *Layers) countLike(at int, sent, comes float64) (n int) {
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

// isLike reports whether leaf k exchanges, is in no layer yet, and has some levels.
func (y *Layers) isLike(k int, sent, comes float64) bool {
	x := &y.leaves[k]
	return x.isExchanging() && x.layers[0] == noLayer && isNear(x.sent, x.up.within, sent) && isNear(x.comes, x.down.within, comes)
}

// add makes a layer of the leaves that have the levels of a given one and are in no layer yet.
func (y *Layers) add(at int) {
	x := layer{sent: y.leaves[at].sent, comes: y.leaves[at].comes}
	for range 2 { // around that leaf, then around the median
		y.off, y.sample = y.off[:0], y.sample[:0]
		for k := range y.leaves {
			if y.isLike(k, x.sent, x.comes) {
				y.off, y.sample = append(y.off, y.leaves[k].sent), append(y.sample, y.leaves[k].comes)
			}
		}
		if len(y.off) < fewestLeaves {
			break
		}
		x.sent, x.comes = median.Of(y.off), median.Of(y.sample)
	}
	sent, comes := x.sent, x.comes
	if len(y.off) < fewestLeaves {
		sent, comes = y.leaves[at].sent, y.leaves[at].comes
	}
	name := y.all.Len()
	y.sample = y.sample[:0]
	for k := range y.leaves {
		if !y.isLike(k, sent, comes) {
			continue
		}
		l := &y.leaves[k]
		l.layers[0] = name
		x.leaves++
		x.rough += (l.up.spread + l.down.spread) / (l.up.middle + l.down.middle)
		if l.low > 0 {
			y.sample = append(y.sample, l.low)
		} else if l.hosts.stalled > 0 {
			y.sample = append(y.sample, l.hosts.stalled)
		}
	}
	if 2*len(y.sample) > x.leaves {
		x.hosts = median.Of(y.sample)
	}
	y.all = append(y.all, x)
}
