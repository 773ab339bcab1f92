package trees

import (
	"slices"

	"github.com/giverny/giverny/segment/linkset"
)

// partnership says that most hosts at a cause's sink wait for another cause.
type partnership struct {
	cause, other int32
	isNarrow     bool // few links from switches wait at the sink
}

// partnerHosts is the share of the hosts at a sink's leaf that must wait for another cause if both are one exchange.
const partnerHosts = .5

// joinPieces joins causes that back pressure leaves apart, because a port can be full without being stalled.
func (c *causes) joinPieces(t *trees, s *sinks, h *shares) {
	c.joinPartners(t, s, h)
	h.rename(c)
	c.joinClosed(t, s)
	h.rename(c)
	c.joinAcross(t, s, h)
	h.rename(c)
	for c.joinMutual(t, s, h) {
		h.rename(c)
	}
	for c.joinMisfits(t, s, h) {
		h.rename(c)
	}
	for c.joinLeaning(t, s, h) {
		h.rename(c)
	}
	for c.joinUnexplained(t, s, h) {
		h.rename(c)
	}
}

// joinPartners joins sinks at leaves with the causes that the leaves' hosts wait for: hosts that exchange both send
// and receive. If enough waits at the leaf for a tree of its own, the hosts of the other cause must in turn wait for
// it, unless the other is an exchange.
func (c *causes) joinPartners(t *trees, s *sinks, h *shares) {
	c.partners = c.partners[:0]
	for a := range s.all {
		x := &s.all[a]
		if !x.isLeaf || x.beginsTree() || x.links < 2 || c.double[a][0] != noDouble || c.levels[c.level.Find(int32(a))].isExchange() {
			continue
		}
		own := c.sets.Find(int32(a))
		if other := c.partnerOf(t, h, x, own); other >= 0 {
			c.partners = append(c.partners, partnership{own, other, x.fromSwitches < minFeeders})
		}
	}
	for _, p := range c.partners {
		isMutual := slices.ContainsFunc(c.partners, func(q partnership) bool { return q.cause == p.other && q.other == p.cause })
		if p.isNarrow || isMutual || c.isExchange(p.other) {
			c.sets.Union(p.cause, p.other)
		}
	}
}

// partnerOf is the cause, other than the sink's own, that most hosts at the sink wait for, or -1.
func (c *causes) partnerOf(t *trees, h *shares, x *sink, own int32) int32 {
	c.votes = c.votes[:0]
	hosts, waiting := 0, 0
	for _, l := range t.waits.in.of(x.device) {
		if !t.waits.fromHost(l) || t.values[l] == linkset.Missing {
			continue
		}
		hosts++
		if i := t.node[l]; i >= 0 && h.main(i) >= 0 && h.main(i) != own {
			waiting++
			c.votes = append(c.votes, vote{h.main(i), 0, 1})
		}
	}
	if float64(waiting) < partnerHosts*float64(hosts) {
		return -1
	}
	return c.mostVoted()
}
