package trees

import (
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

const (
	// A misfit's links are off the prediction by leastMisfit deviations on average, each counted up to mostMisfit. It
	// is joined with a cause that misfitShare of the smaller one's links touch, if that is a misfit or has under
	// misfitSmall links.
	leastMisfit, mostMisfit, misfitShare, misfitSmall = 1.8, 5, .15, 16
	// Two that meet are one if their links are off by that many deviations on average, whatever their levels and
	// shapes: noise alone gives .8. From 2 to 2.6, scores differ by less than their errors, on queues, packets and
	// formulas.
	leastTogether = 2.3
	// Highest traffic over the links down to a leaf, in links and as a share of their capacity, at which few ports
	// are full.
	mostPassed, mostPassedShare = 4, .5
)

// joinMisfits joins misfits that touch: they are parts of one irregular exchange, whose shape does not separate them.
// A small cause beside one is part of it too.
func (c *causes) joinMisfits(t *trees, s *sinks, h *shares) {
	c.measureMisfits(t, s, h)
	c.beside.find(t, h)
	for cause := range c.thin.Len() {
		if !c.isMisfit(cause) || c.hasReason(cause) {
			continue
		}
		for _, other := range c.beside.of(t, cause) {
			links, n := c.beside.links[other], c.count[other]
			if float64(links) >= misfitShare*float64(min(n, c.count[cause])) && (n < misfitSmall || c.isMisfit(other)) && !c.hasReason(other) {
				c.sets.Union(cause, other)
			}
		}
	}
}

// joinUnexplained joins causes that meet at a switch if together they explain their links clearly worse than noise
// would: causes are only separate if each explains its own links.
func (c *causes) joinUnexplained(t *trees, s *sinks, h *shares) {
	c.measureMisfits(t, s, h)
	for d := range t.Graph.IsSwitch.Len() {
		if !t.Graph.IsSwitch[d] {
			continue
		}
		c.listMet(t, h, d)
		for k, a := range c.met {
			for _, b := range c.met[:k] {
				if c.sets.Find(a) != c.sets.Find(b) && c.off[a]+c.off[b] >= leastTogether*float64(c.count[a]+c.count[b]) {
					c.sets.Union(a, b)
				}
			}
		}
	}
}

// hasReason reports whether there is evidence for a cause however badly its links are explained: its root visibly
// stalls, or its sources show that it is a tree. Where senders push, stall may rise upstream from the root; where
// they send in bursts, siblings differ.
func (c *causes) hasReason(cause causeID) bool {
	return c.isRooted[cause] || c.oneWay.isTree(cause)
}

// listMet lists the causes without a reason that have links into or out of a switch.
func (c *causes) listMet(t *trees, h *shares, device index.Device) {
	c.met = c.met[:0]
	for _, nodes := range [2][]index.Node{t.Into.Of(device), t.Leaving.Of(device)} {
		for _, i := range nodes {
			if own := h.main(i); own >= 0 && !c.hasReason(own) && !slices.Contains(c.met, own) {
				c.met = append(c.met, own)
			}
		}
	}
}

// measureMisfits sums the residuals of each cause's links, and finds the causes whose root visibly stalls.
func (c *causes) measureMisfits(t *trees, s *sinks, h *shares) {
	n := len(c.thin)
	c.count, c.off, c.isRooted = scratch.Zeroed(c.count, n), scratch.Zeroed(c.off, n), scratch.Zeroed(c.isRooted, n)
	for i := range h.misfit.Len() {
		if own := h.main(i); own >= 0 && !t.Graph.ToHost(t.Links[i]) {
			c.count[own]++
			c.off[own] += min(mostMisfit, h.misfit[i])
		}
	}
	for a := range s.all.Len() {
		x, own := &s.all[a], c.causeOf(a)
		c.isRooted[own] = c.isRooted[own] || x.isReceiver || x.waitsForFew || x.isTwin
	}
	c.oneWay.count(t, s, c, h)
}

// isMisfit reports whether a cause explains its links worse than noise would.
func (c *causes) isMisfit(cause causeID) bool {
	return c.count[cause] >= FewestLinks && c.off[cause] >= leastMisfit*float64(c.count[cause])
}

// showsReceiver reports whether the links at a switch wait for a visibly stalled link to a host that does not itself
// wait to send, or less than that link stalls. A host that waits as much exchanges, and its port need not explain the
// exchange's other links.
func (t *trees) showsReceiver(x *sink) bool {
	return x.showsRoot() && slices.ContainsFunc(t.Leaving.Of(x.device), func(i index.Node) bool {
		waitsAsMuch := func(j index.Node) bool { return t.Stall[j] >= t.Stall[i] }
		return t.ToHost(i) && !slices.ContainsFunc(t.Leaving.Of(t.To[i]), waitsAsMuch)
	})
}

// showsFewPorts reports whether links down to a leaf wait for few ports: where they wait a port is full, and the
// little traffic that they pass fills few at once. In an exchange, all hosts receive.
func (t *trees) showsFewPorts(x *sink) bool {
	if !x.isLeaf || x.fromSwitches < backpressure.MinFeeders {
		return false
	}
	passes, ways := 0., 0.
	for _, l := range t.Graph.In.Of(x.device) {
		if t.Graph.IsDown(l) && t.Values[l] != linkset.Missing {
			passes, ways = passes+1-float64(t.Values[l])/100, ways+1
		}
	}
	return ways >= backpressure.MinFeeders && passes <= min(mostPassed, mostPassedShare*ways)
}
