package root

import (
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// claims say which candidate each stalled link of a region waits for, as far as known: a flow is held back the more,
// the more waits for the link it is held up by, so that it is the candidate with the most routes over both, weighted by
// that.
type claims struct {
	of      []claim         // by link
	claimed []schema.LinkID // links in of
	counts  []int           // by claimant: number of links claimed
}

// claim is the candidate that a stalled link waits for.
type claim struct {
	routes float64 // over both links, weighted by urgency
	by     int
}

// claimant is a candidate, and the share of time that packets wait for it.
type claimant struct {
	number  int
	urgency float64
}

// reset removes the claims of the region before.
func (c *claims) reset() {
	for _, l := range c.claimed {
		c.of[l] = claim{}
	}
	c.claimed = c.claimed[:0]
}

// add gives a link to a claimant if more of its routes, weighted by urgency, go on there than over the others.
func (c *claims) add(by claimant, l schema.LinkID, over float64) {
	at := &c.of[l]
	if at.routes == 0 {
		c.claimed = append(c.claimed, l)
	}
	if v := over * by.urgency; v > at.routes {
		*at = claim{v, by.number}
	}
}

// shares is the share of each of so many claimants in the claimed links.
func (c *claims) shares(claimants int, to []float64) []float64 {
	c.counts = append(c.counts[:0], make([]int, claimants)...)
	for _, l := range c.claimed {
		c.counts[c.of[l].by]++
	}
	for _, n := range c.counts {
		to = append(to, float64(n)/float64(max(1, len(c.claimed))))
	}
	return to
}

// claimant is a candidate as it claims links, by the readings p.
func (p *Pressure) claimant(number int, l schema.LinkID) claimant {
	return claimant{number, max(leastWaits, p.waitsFor(l))}
}

// claim enters the tree upstream of a candidate, on the region's stalled links, and resets the tree.
func (g *GridRegion) claim(by claimant, p *Pressure) {
	for _, l := range g.tree.Links {
		if g.inside.Has(l) && p.StallOf(l) >= stalledPercent {
			g.claims.add(by, l, g.tree.Load[l])
		}
	}
	g.tree.Reset()
}

// stalled lists the stalled links of the region.
func (g *GridRegion) stalled(p *Pressure) []schema.LinkID {
	g.stalls = g.stalls[:0]
	for _, l := range g.links {
		if p.StallOf(l) >= stalledPercent {
			g.stalls = append(g.stalls, l)
		}
	}
	return g.stalls
}

// addPassage enters a passage over a candidate, on stalled links.
func (c *claims) addPassage(by claimant, pass *routes.Passage, stalled []schema.LinkID) {
	if pass.IsEmpty() {
		return
	}
	for _, l := range stalled {
		if n := pass.Over(l); n > 0 {
			c.add(by, l, n)
		}
	}
}

// Shares returns, for links of a grid that failed together, the share of a region that leads to each rather than to the
// others; NoLink stands for an object that is not a link. No traffic passes dead links.
func (g *GridRegion) Shares(p *Pressure, failed, dead []schema.LinkID, senders []Sender) []float64 {
	g.check()
	g.claims.reset()
	for i, l := range failed {
		if l != schema.NoLink && g.grid.Dim(l) >= 0 {
			g.claimFor(p.claimant(i, l), l, dead, senders, p)
		}
	}
	return g.claims.shares(len(failed), nil)
}

// claimFor lets a link claim the routes over it, from either end and without those over dead links, route by route.
func (g *GridRegion) claimFor(by claimant, l schema.LinkID, dead []schema.LinkID, senders []Sender, p *Pressure) {
	from, to := p.graph.Ends(l)
	for _, tail := range [2]topology.DeviceID{from, to} {
		for _, of := range senders {
			g.tree.Upstream(of.Routes, l, tail, dead)
			g.claim(by, p)
		}
	}
}
