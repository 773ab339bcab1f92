package layers

import (
	"math"
	"slices"

	"github.com/giverny/giverny/segment/trees/backpressure"
)

const (
	memberWidth = 1.5 // tolerances within which a leaf takes part
	comesShare  = .05 // relative error of the level at which leaves of one exchange receive
	addsUpShare = .08 // relative error of a layer's level as the sum of two others
	hostsShare  = .2  // relative tolerance where only some links, or one direction, show the level
	mostRough   = .12 // relative spread of links above which levels may differ from leaf to leaf
	otherCost   = .05 // weight of the worse direction, to which a tree may add
)

// dropSums drops layers of two leaves that are the sum of two others: their leaves take part in both.
func (y *Layers) dropSums() {
	for c := range y.all.Len() {
		x := &y.all[c]
		if x.leaves > fewestLeaves || !y.isSum(x) {
			continue
		}
		y.drop(c)
	}
}

// dropRaised drops layers whose leaves receive as those of another one do, but send more: they send elsewhere, too, which does
// not change what waits to enter them. They become members of the other.
func (y *Layers) dropRaised() {
	for c := range y.all.Len() {
		x := &y.all[c]
		isBase := func(z layer) bool {
			return z.leaves > 0 && x.sent > (1+sameLevel)*z.sent && math.Abs(x.comes-z.comes) <= comesShare*z.comes+lowPoints
		}
		if x.leaves > 0 && slices.ContainsFunc(y.all, isBase) {
			y.drop(c)
		}
	}
}

// drop removes a layer.
func (y *Layers) drop(layer layerID) {
	y.all[layer].leaves = 0
	for k := range y.leaves {
		x := &y.leaves[k]
		switch layer {
		case x.layers[0]:
			x.layers[0], x.layers[1] = x.layers[1], noLayer
		case x.layers[1]:
			x.layers[1] = noLayer
		}
	}
}

// isSum reports whether a layer's levels are the sums of those of two others.
func (y *Layers) isSum(x *layer) bool {
	for i := range y.all.Len() {
		for j := range i {
			p, q := &y.all[i], &y.all[j]
			if p == x || q == x || p.leaves < fewestLeaves || q.leaves < fewestLeaves {
				continue
			}
			if isAbout(p.sent+q.sent, x.sent) && isAbout(p.comes+q.comes, x.comes) {
				return true
			}
		}
	}
	return false
}

// isAbout reports whether two levels are equal within the error of a sum.
func isAbout(a, b float64) bool { return math.Abs(a-b) <= addsUpShare*max(a, b)+lowPoints }

// findMembers finds the layers of the remaining leaves: one, to which a tree may add, or two that add up.
func (y *Layers) findMembers() {
	for k := range y.leaves {
		x := &y.leaves[k]
		if x.layers[0] != noLayer {
			continue
		}
		best := math.Inf(1)
		for c := range y.all.Len() {
			if off := y.all[c].levelDistance(x); off < best {
				best, x.layers = off, [2]layerID{c, noLayer}
			}
		}
		if !x.up.isWide() {
			continue
		}
		for i := range y.all.Len() {
			for j := range i {
				if off := levelDistanceToSum(x, &y.all[i], &y.all[j]); off < best {
					best, x.layers = off, [2]layerID{i, j}
				}
			}
		}
	}
}

// levelDistance is the relative distance of a leaf's levels from a layer's; infinite if the leaf takes no part.
func (z *layer) levelDistance(x *leafLevels) float64 {
	none := math.Inf(1)
	if z.leaves == 0 {
		return none
	}
	sent, comes := math.Abs(x.sent-z.sent), math.Abs(x.comes-z.comes)
	isSent := x.up.isWide() && sent <= memberWidth*x.up.within
	isComing := x.down.isWide() && comes <= memberWidth*x.down.within
	sent, comes = sent/z.sent, comes/z.comes
	hasHosts := z.hosts == 0 || math.Abs(x.hosts.stalled-z.hosts) <= hostsShare*z.hosts
	switch {
	case x.up.isWide() && x.down.isWide():
		if isSent && x.down.middle >= nearlyStalled*z.comes || isComing && x.up.middle >= nearlyStalled*z.sent {
			return min(sent, comes) + otherCost*max(sent, comes)
		}
	case isComing && x.up.isUnknown() && hasHosts:
		return comes
	case isSent && x.down.isUnknown() && hasHosts:
		return sent
	}
	if isSent && isAlike(x.down.few, z.comes) && (isAlike(x.hosts.few, z.hosts) || z.hosts == 0 && x.hosts.few == 0) {
		return sent // some of its hosts take part, and receive over some downlinks
	}
	return none
}

// isUnknown reports whether too few links have a reading to know the level: all non-zero ones stall, but a zero may
// be wrong.
func (l *linkLevel) isUnknown() bool {
	return l.measured < backpressure.MinFeeders || l.links < FewestOfWays && l.part >= MostWays
}

// isAlike reports whether a level is about that of a layer, which must not be 0.
func isAlike(level, of float64) bool { return of > 0 && math.Abs(level-of) <= hostsShare*of }

// levelDistanceToSum is the relative distance of a leaf's levels from the sums of those of two layers.
func levelDistanceToSum(x *leafLevels, p, q *layer) float64 {
	sent, comes := p.sent+q.sent, p.comes+q.comes
	if p.leaves == 0 || q.leaves == 0 || !x.down.isWide() ||
		math.Abs(x.sent-sent) > memberWidth*x.up.within || math.Abs(x.comes-comes) > memberWidth*x.down.within {
		return math.Inf(1)
	}
	return math.Abs(x.sent-sent)/sent + math.Abs(x.comes-comes)/comes
}

// dropPairs drops layers of two leaves whose links differ if some exchanging leaf is in no layer: levels then differ
// from leaf to leaf.
func (y *Layers) dropPairs() {
	if !slices.ContainsFunc(y.leaves, func(x leafLevels) bool { return x.isExchanging() && x.layers[0] == noLayer }) {
		return
	}
	for c := range y.all.Len() {
		if z := &y.all[c]; z.leaves == fewestLeaves && (z.isUneven() || z.rough > mostRough*float64(z.leaves)) {
			y.drop(c)
		}
	}
}
