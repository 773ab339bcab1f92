package trees

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/segment/linkset"
)

// vote says that a link of one cause lies beside another's.
type vote struct {
	cause, beside int32
	n             int
}

// partnership says that most hosts where a cause waits wait for another.
type partnership struct {
	cause, other int32
	isNarrow     bool // few links from switches wait there
}

const (
	// An exchange meets itself at a leaf where links wait, if so many of the hosts there wait elsewhere.
	partnerHosts = .5
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

// joinPieces joins what back pressure alone does not: it sees no port that is full without being stalled.
func (c *causes) joinPieces(t *trees, s *sinks, h *shares) {
	c.joinPartners(t, s, h)
	h.rename(c)
	c.joinReceivers(t, s)
	h.rename(c)
	c.joinClosed(t, s)
	h.rename(c)
	c.joinCliques(t, s)
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

// tallyVotes sums the votes by cause and what it lies beside.
func (c *causes) tallyVotes() {
	slices.SortFunc(c.votes, func(a, b vote) int { return cmp.Or(cmp.Compare(a.cause, b.cause), cmp.Compare(a.beside, b.beside)) })
	c.tally = c.tally[:0]
	for _, v := range c.votes {
		if k := len(c.tally) - 1; k >= 0 && c.tally[k].cause == v.cause && c.tally[k].beside == v.beside {
			c.tally[k].n += v.n
		} else {
			c.tally = append(c.tally, v)
		}
	}
}

// mostVoted is the cause that has most votes, or -1 if there is none or another has as many.
func (c *causes) mostVoted() int32 {
	c.tallyVotes()
	best, isTied := vote{cause: -1}, false
	for _, v := range c.tally {
		isTied = v.n == best.n || isTied && v.n < best.n
		if v.n > best.n {
			best = v
		}
	}
	if isTied {
		return -1
	}
	return best.cause
}

// joinPartners joins sinks at leaves with the causes that the leaves' hosts wait for: those who exchange with
// each other both send and receive. Where enough waits at the leaf for a tree of its own, the hosts of the
// other cause must wait for it in turn, unless that is an exchange.
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

// partnerOf is the cause that most of the hosts at a sink wait for instead of what waits at the sink itself,
// or -1.
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
