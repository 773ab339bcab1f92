package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
)

// A stalled link waits for that of two full links which most of its routes go on over, weighted by how long packets
// wait there.
func TestALinkIsClaimedByWhatItWaitsFor(t *testing.T) {
	g := roottest.Graph(t, "torus:8x8")
	h, links := newHeld(g, routes.NewRouter(g).Grid), []schema.LinkID{3, 5, 9}
	stall := schema.Series{Metric: schema.CreditStall, Values: make([]float32, g.NumLinks()), Valid: schema.NewBitmap(g.NumLinks())}
	for _, l := range links {
		stall.Values[l] = 40
		stall.Valid.Set(int(l))
	}
	p := (&Readings{hops: &hops{graph: g}}).For(&stall, Past{Before: func(schema.LinkID) float64 { return -1 }})
	for _, c := range []struct {
		urgency [2]float64
		want    float64 // share of the first
	}{{[2]float64{.5, .5}, 2. / 3}, {[2]float64{.5, .1}, 1}, {[2]float64{.1, .9}, 0}} {
		h.take(links, p)
		h.resetClaims()
		for i, loads := range [2]map[schema.LinkID]float64{{3: 4, 5: 4, 9: 2}, {3: 1, 5: 2, 9: 6, 11: 50}} {
			h.claimant, h.urgency = i, c.urgency[i]
			for _, l := range []schema.LinkID{3, 5, 9, 11} {
				if n := loads[l]; n > 0 {
					h.tree.Links, h.tree.Load[l] = append(h.tree.Links, l), n
				}
			}
			h.claim(p)
		}
		if h.countClaims(2); h.share(0) != c.want || h.share(0)+h.share(1) != 1 {
			t.Errorf("urgency %v: shares %v and %v, want %v", c.urgency, h.share(0), h.share(1), c.want)
		}
	}
}
