package root

import "github.com/giverny/giverny/topology"

// onTheLine holds the maxima that the switches of the line where a region's traffic merges are compared with.
type onTheLine struct {
	bestTree, bestMeets, mostArrives float64
}

// onTheLine finds the maxima over the ends that Drain tried last.
func (g *treeFits) onTheLine() (o onTheLine) {
	o.mostArrives = 1
	for _, k := range g.trees {
		o.bestTree = max(o.bestTree, k.fit)
	}
	for i, score := range g.scores {
		if o.mostArrives = max(o.mostArrives, g.arrived[i]); i == 0 || score > o.bestMeets {
			o.bestMeets = score
		}
	}
	return o
}

// score rates a switch as one of the ends that Drain tried last.
func (o *onTheLine) score(at topology.DeviceID, g *GridRegion) float64 {
	w := &nodeWeights
	for i := range g.tries {
		m := &g.tries[i]
		if m.Device != at {
			continue
		}
		fit, member := g.bestTree(i)
		score := w.tree*(fit-o.bestTree) + w.agree*max(-mostBehind, min(mostBehind, m.Agree)) +
			w.meets*max(-mostBehind, g.scores[i]-o.bestMeets)
		score += w.appears*g.appears(at)/o.mostArrives + w.off*g.unbalanced(at)
		if member {
			score += w.member
		}
		return score
	}
	return -w.tree*o.bestTree - w.meets*mostBehind
}

// bestTree is the best fit of the trees to an end, and whether the end is a node of that tree's sender.
func (g *treeFits) bestTree(end int) (fit float64, member bool) {
	for _, k := range g.trees {
		if k.end == end && k.fit > fit {
			fit, member = k.fit, k.member
		}
	}
	return fit, member
}
