package trees

import (
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
)

const (
	// A cause explains nothing if its links are so many deviations off what is predicted, on average, of which each
	// counts up to a bound; it is joined with what so many of the smaller one's links touch if that is no better, or
	// has few links.
	leastMisfit, mostMisfit, misfitShare, misfitSmall = 1.8, 5, .15, 16
	// Two that meet are one if their links are so many deviations off on average, whatever their levels and shapes: in noise
	// alone it is .8. From 2 to 2.6 the scores differ by less than their errors, on queues, packets and formulas.
	leastTogether = 2.3
	// What passes over the ways down to a leaf, at most, in links and as a share of what they could pass, where few ports are full.
	mostPassed, mostPassedShare = 4, .5
)

// joinMisfits joins causes that touch and explain what they stall worse than noise would: they are parts of one
// exchange as it happens, which has no shape that would part them. What is small beside such a one is its, too.
func (c *causes) joinMisfits(t *trees, s *sinks, h *shares) (joined bool) {
	c.measureMisfits(t, s, h)
	c.votes = c.votes[:0]
	for i := range int32(len(t.links)) {
		own := h.main(i)
		if own < 0 || !c.isMisfit(own) {
			continue
		}
		first := len(c.votes)
		for _, beside := range [2][]int32{t.leaving.of(t.to[i]), t.into.of(t.from[i])} {
			for _, j := range beside {
				other := h.main(j)
				if other >= 0 && other != own && !slices.ContainsFunc(c.votes[first:], func(v vote) bool { return v.beside == other }) {
					c.votes = append(c.votes, vote{own, other, 1})
				}
			}
		}
	}
	c.tallyVotes()
	for _, v := range c.tally {
		if n := c.count[v.beside]; float64(v.n) >= misfitShare*float64(min(n, c.count[v.cause])) && (n < misfitSmall || c.isMisfit(v.beside)) &&
			!c.hasReason(v.cause) && !c.hasReason(v.beside) {
			joined = joined || c.sets.Find(v.cause) != c.sets.Find(v.beside)
			c.sets.Union(v.cause, v.beside)
		}
	}
	return joined
}

// joinUnexplained joins causes that meet at a switch, whichever way, if together they explain their links clearly worse than
// noise would: the evidence that parts them is that each explains its own. It reports whether it joined any.
func (c *causes) joinUnexplained(t *trees, s *sinks, h *shares) (joined bool) {
	c.measureMisfits(t, s, h)
	for d, isSwitch := range t.waits.isSwitch {
		if !isSwitch {
			continue
		}
		c.listMet(t, h, int32(d))
		for k, a := range c.met {
			for _, b := range c.met[:k] {
				if c.sets.Find(a) != c.sets.Find(b) && c.off[a]+c.off[b] >= leastTogether*float64(c.count[a]+c.count[b]) {
					c.sets.Union(a, b)
					joined = true
				}
			}
		}
	}
	return joined
}

// hasReason reports whether a cause has a reason of its own, however badly its links are explained: where senders push, stall may
// rise on the way up from the root, and where they send in bursts links beside each other differ. Its root is seen to stall, or
// its sources show that it is a tree.
func (c *causes) hasReason(cause int32) bool { return c.isRooted[cause] || c.oneWay.isTree(cause) }

// listMet lists the causes, but for those that have a reason of their own, of which links enter or leave a switch.
func (c *causes) listMet(t *trees, h *shares, device int32) {
	c.met = c.met[:0]
	for _, nodes := range [2][]int32{t.into.of(device), t.leaving.of(device)} {
		for _, i := range nodes {
			if own := h.main(i); own >= 0 && !c.hasReason(own) && !slices.Contains(c.met, own) {
				c.met = append(c.met, own)
			}
		}
	}
}

// measureMisfits sums by cause how far links are off what is predicted, and finds of which the root is seen to stall.
func (c *causes) measureMisfits(t *trees, s *sinks, h *shares) {
	n := len(c.thin)
	c.count, c.off, c.isRooted = scratch.Slice(c.count, n), scratch.Slice(c.off, n), scratch.Slice(c.isRooted, n)
	clear(c.isRooted)
	clear(c.count)
	clear(c.off)
	for i, off := range h.misfit {
		if own := h.main(int32(i)); own >= 0 && !t.waits.toHost(t.links[i]) {
			c.count[own]++
			c.off[own] += min(mostMisfit, off)
		}
	}
	for a := range s.all {
		x, own := &s.all[a], c.sets.Find(int32(a))
		c.isRooted[own] = c.isRooted[own] || t.showsReceiver(x) && !s.waitsAlike(x) || x.waitsForFew || x.isTwin || x.isPeak
	}
	c.oneWay.count(t, s, c, h)
}

// isMisfit reports whether a cause explains its links worse than noise would.
func (c *causes) isMisfit(cause int32) bool {
	return c.count[cause] >= FewestLinks && c.off[cause] >= leastMisfit*float64(c.count[cause])
}

// showsReceiver reports whether what waits at a sink waits for a link that is seen to stall, and that is one between switches or leads
// to a host that does not itself wait to send: who does exchanges, and others of the exchange need not be explained by its port.
func (t *trees) showsReceiver(x *sink) bool {
	if x.odd >= 0 && !t.waits.toHost(x.odd) {
		return x.showsRoot()
	}
	return x.showsRoot() && slices.ContainsFunc(t.leaving.of(x.device), func(i int32) bool { return t.toHost(i) && !t.waitsToSend(t.to[i]) })
}

// showsFewPorts reports whether what comes down to a leaf waits for few ports: where it waits one is full, and what passes over all
// ways down fills few at once. Hosts that exchange all receive.
func (t *trees) showsFewPorts(x *sink) bool {
	if !x.isLeaf || x.fromSwitches < minFeeders {
		return false
	}
	passes, ways := 0., 0.
	for _, l := range t.waits.in.of(x.device) {
		if t.waits.isDown(l) && t.values[l] != linkset.Missing {
			passes, ways = passes+1-float64(t.values[l])/100, ways+1
		}
	}
	return ways >= minFeeders && passes <= min(mostPassed, mostPassedShare*ways)
}
