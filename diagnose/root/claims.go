package root

import (
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// claim is the candidate that a stalled link waits for, as far as known.
type claim struct {
	routes float64 // over both links, weighted by urgency
	by     int
}

func (h *held) resetClaims() {
	for _, l := range h.claimed {
		h.claims[l] = claim{}
	}
	h.claimed = h.claimed[:0]
}

// claim enters the tree upstream of the current candidate, on the region's stalled links, and resets the tree.
func (h *held) claim(p *Pressure) {
	for _, l := range h.tree.Links {
		if h.look(l).in == h.round && p.StallOf(l) >= stalledPercent {
			h.claimOf(l, h.tree.Load[l])
		}
	}
	h.tree.Reset()
}

// listStalled lists the stalled links of the region.
func (h *held) listStalled(p *Pressure) {
	h.stalled = h.stalled[:0]
	for _, l := range h.links {
		if p.StallOf(l) >= stalledPercent {
			h.stalled = append(h.stalled, l)
		}
	}
}

// claimPassage enters a passage over the current candidate, on the region's stalled links.
func (h *held) claimPassage(pass *routes.Passage) {
	if pass.IsEmpty() {
		return
	}
	for _, l := range h.stalled {
		if n := pass.Over(l); n > 0 {
			h.claimOf(l, n)
		}
	}
}

// claimOf gives a link to the current candidate if more of its routes, weighted by urgency, go on there than over the
// others.
func (h *held) claimOf(l schema.LinkID, over float64) {
	c := &h.claims[l]
	if c.routes == 0 {
		h.claimed = append(h.claimed, l)
	}
	if v := over * h.urgency; v > c.routes {
		*c = claim{v, h.claimant}
	}
}

// countClaims counts the links by claimant.
func (h *held) countClaims(claimants int) {
	h.counts = append(h.counts[:0], make([]int, claimants)...)
	for _, l := range h.claimed {
		h.counts[h.claims[l].by]++
	}
}

// share is the share of one claimant in the claimed links.
func (h *held) share(claimant int) float64 {
	return float64(h.counts[claimant]) / float64(max(1, len(h.claimed)))
}

// Shares returns, for links of a grid that failed together, the share of a region that leads to each rather than to the
// others; NoLink stands for an object that is not a link. No traffic passes dead links. The region is that of the last call
// of Drain.
func (f *Finder) Shares(p *Pressure, failed, dead []schema.LinkID, senders []Sender) []float64 {
	h := &f.held
	h.resetClaims()
	for i, l := range failed {
		if l != schema.NoLink && f.grid.Dim(l) >= 0 {
			h.claimFor(i, l, dead, senders, p)
		}
	}
	h.countClaims(len(failed))
	shares := make([]float64, len(failed))
	for i := range failed {
		shares[i] = h.share(i)
	}
	return shares
}

// claimFor lets a link claim the routes over it, from either end and without those over dead links, route by route.
func (h *held) claimFor(claimant int, l schema.LinkID, dead []schema.LinkID, senders []Sender, p *Pressure) {
	h.claimant, h.urgency = claimant, max(leastWaits, p.waitsFor(l))
	from, to := p.graph.Ends(l)
	for _, tail := range [2]topology.DeviceID{from, to} {
		for _, of := range senders {
			h.tree.Upstream(of.Routes, l, tail, dead)
			h.claim(p)
		}
	}
}
