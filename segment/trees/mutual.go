package trees

import (
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

const (
	// Of the links out of a leaf, at least that share waits for the cause that its hosts send to.
	sentShare = .5
	// Of the links that wait for a cause, at least that share is from leaves at which the other cause waits, two or
	// more.
	answeredShare, fewestAnswering = .7, 2
)

// joinMutual joins a cause at a leaf with the cause that most links out of the leaf wait for, if most of what waits
// at the leaf comes from where that one waits: hosts that receive from those they send to exchange. Levels do not
// show it, since each host receives at its own rate.
func (c *causes) joinMutual(t *trees, s *sinks, h *shares) {
	c.partners = c.partners[:0]
	for a := range s.all.Len() {
		own, leaf := c.causeOf(a), s.all[a].device
		if s.all[a].link >= 0 || !t.Graph.IsLeaf(leaf) || !c.double[a].isNone() || c.isExchange(own) {
			continue
		}
		if other := c.sentTo(t, h, leaf, own); other >= 0 && c.answers(t, s, h, other, a) {
			c.partners = append(c.partners, partnership{cause: own, other: other})
		}
	}
	for _, p := range c.partners {
		c.sets.Union(p.cause, p.other)
	}
}

// sentTo is the cause, other than its own, that most links out of a leaf or from its hosts wait for; -1 if there is
// none.
func (c *causes) sentTo(t *trees, h *shares, leaf index.Device, own causeID) causeID {
	c.votes = c.votes[:0]
	all := 0
	for _, nodes := range [2][]index.Node{t.Into.Of(leaf), t.Leaving.Of(leaf)} {
		for _, i := range nodes {
			if t.LeafOf(i) != leaf || h.main(i) < 0 {
				continue
			}
			all++
			if m := h.main(i); m != own {
				c.votes = append(c.votes, vote{m, 0, 1})
			}
		}
	}
	if n := len(c.votes); n < backpressure.MinFeeders || float64(n) < sentShare*float64(all) {
		return -1
	}
	return c.mostVoted()
}

// answers reports whether the links that wait for a sink's cause mostly come from leaves, other than the sink's, at which
// another cause waits.
func (c *causes) answers(t *trees, s *sinks, h *shares, cause causeID, to sinkID) bool {
	own, leaf, leaves := c.causeOf(to), s.all[to].device, 0
	for a := range s.all.Len() {
		if c.causeOf(a) == cause && t.Graph.IsLeaf(s.all[a].device) {
			leaves++
		}
	}
	if leaves < fewestAnswering {
		return false
	}
	all, n := 0, 0
	for i := range t.Links.Len() {
		from := t.LeafOf(i)
		if h.main(i) != own || from < 0 || from == leaf {
			continue
		}
		all++
		if a := s.at(from); a >= 0 && c.causeOf(a) == cause {
			n++
		}
	}
	return all >= backpressure.MinFeeders && float64(n) >= answeredShare*float64(all)
}
