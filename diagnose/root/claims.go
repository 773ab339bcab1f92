package root

import (
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// claim says which of the links that are tried a stalled link waits for, as far as is known.
type claim struct {
	routes float64 // over both, by how much waits
	by     int
}

func (h *held) resetClaims() {
	for _, l := range h.claimed {
		h.claims[l] = claim{}
	}
	h.claimed = h.claimed[:0]
}

// claim compares the tree before what is tried with those before the others, on the region's links that stall. It
// forgets the tree.
func (h *held) claim(p *Pressure) {
	for _, l := range h.tree.Links {
		if h.look(l).in == h.round && p.StallOf(l) >= stalledPercent {
			h.claimOf(l, h.tree.Load[l])
		}
	}
	h.tree.Reset()
}

// listStalled lists the region's links that stall.
func (h *held) listStalled(p *Pressure) {
	h.stalled = h.stalled[:0]
	for _, l := range h.links {
		if p.StallOf(l) >= stalledPercent {
			h.stalled = append(h.stalled, l)
		}
	}
}

// claimPassage compares a passage over what is tried with those over the others, on the region's links that stall.
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

// claimOf compares how many routes over a link go on over what is tried with those that do over the others.
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

// share is the part of the claimed links that one claimant has.
func (h *held) share(claimant int) float64 {
	return float64(h.counts[claimant]) / float64(max(1, len(h.claimed)))
}

// Shares finds, of some links of a grid that failed together, to which how much of a region leads rather than to the others;
// NoLink stands for what is no link. dead lets nothing pass. The region is the one of which Drain was asked last.
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

// claimFor lets a link claim what is sent over it, from either end, and what failed lets pass: route by route.
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
