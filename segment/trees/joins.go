package trees

import (
	"slices"

	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/backpressure"
)

// partnership says that most hosts at a cause's sink wait for another cause.
type partnership struct {
	cause, other causeID
	isNarrow     bool // few links from switches wait at the sink
}

// partnerHosts is the share of the hosts at a sink's leaf that must wait for another cause if both are one exchange.
const partnerHosts = .5

// joinRule is one rule by which causes are one that back pressure leaves apart, because a port can be full without being
// stalled.
type joinRule struct {
	join       func(*causes, *trees, *sinks, *shares)
	isRepeated bool // until it joins nothing: what it joined may show more
}

// joinPieces applies the rules, and after each that joined causes names these in the parts of all nodes. What is joined is not
// divided again, so the rules are in the order of their evidence: first those by who sends to whom, which hold whatever the
// causes explain; then those by how badly causes explain their links, of which only so much is left. The order matters little:
// the reverse one changes 7 of 720 snapshots of package bench.
func (c *causes) joinPieces(t *trees, s *sinks, h *shares) {
	for _, rule := range [...]joinRule{
		// Leaves whose hosts or uplinks wait for each other.
		{join: (*causes).joinPartners},
		{join: (*causes).joinClosed},
		// Whole causes: of two groups, once those within a group are joined; and of a leaf and of where it sends to, which are
		// known by more leaves with each that is joined.
		{join: (*causes).joinAcross},
		{join: (*causes).joinMutual, isRepeated: true},
		// Causes that explain their links badly, and touch. Joined ones explain them worse or better, so others follow.
		{join: (*causes).joinMisfits, isRepeated: true},
		// Causes that begin at links which wait for another. These lose their roots, so pieces of exchanges are joined before.
		{join: (*causes).joinLeaning, isRepeated: true},
		// Any two that meet and together explain their links badly: the weakest evidence.
		{join: (*causes).joinUnexplained, isRepeated: true},
	} {
		for isAgain := true; isAgain; {
			before := c.sets.Joins()
			if rule.join(c, t, s, h); c.sets.Joins() == before {
				break
			}
			h.rename(c)
			isAgain = rule.isRepeated
		}
	}
}

// joinPartners joins sinks at leaves with the causes that the leaves' hosts wait for: hosts that exchange both send
// and receive. If enough waits at the leaf for a tree of its own, the hosts of the other cause must in turn wait for
// it, unless the other is an exchange.
func (c *causes) joinPartners(t *trees, s *sinks, h *shares) {
	c.partners = c.partners[:0]
	for a := range s.all.Len() {
		x := &s.all[a]
		if !x.isLeaf || x.beginsTree() || x.links < 2 || !c.double[a].isNone() || c.isOfExchange(a) {
			continue
		}
		own := c.causeOf(a)
		if other := c.partnerOf(t, h, x, own); other >= 0 {
			c.partners = append(c.partners, partnership{own, other, x.fromSwitches < backpressure.MinFeeders})
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
func (c *causes) partnerOf(t *trees, h *shares, x *sink, own causeID) causeID {
	c.votes = c.votes[:0]
	hosts, waiting := 0, 0
	for _, l := range t.Graph.In.Of(x.device) {
		if !t.Graph.FromHost(l) || t.Values[l] == linkset.Missing {
			continue
		}
		hosts++
		if i := t.Node[l]; i >= 0 && h.main(i) >= 0 && h.main(i) != own {
			waiting++
			c.votes = append(c.votes, vote{h.main(i), 0, 1})
		}
	}
	if float64(waiting) < partnerHosts*float64(hosts) {
		return -1
	}
	return c.mostVoted()
}
