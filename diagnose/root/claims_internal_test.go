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
	f, links := NewFinder(g, routes.NewRouter(g).Grid), []schema.LinkID{3, 5, 9}
	stall := schema.Series{Metric: schema.CreditStall, Values: make([]float32, g.NumLinks()),
		Valid: schema.NewBitmap(g.NumLinks())}
	for _, l := range append(links, 11) { // 11 waits, but does not belong to the region
		stall.Values[l] = 40
		stall.Valid.Set(int(l))
	}
	p := (&Readings{hops: &hops{graph: g}}).For(&stall, Past{Before: func(schema.LinkID) float64 { return -1 }})
	for _, c := range []struct {
		urgency [2]float64
		want    float64 // share of the first
	}{{[2]float64{.5, .5}, 2. / 3}, {[2]float64{.5, .1}, 1}, {[2]float64{.1, .9}, 0}} {
		r := f.Region(p, links)
		r.claims.reset()
		for i, loads := range [2]map[schema.LinkID]float64{{3: 4, 5: 4, 9: 2}, {3: 1, 5: 2, 9: 6, 11: 50}} {
			for _, l := range []schema.LinkID{3, 5, 9, 11} {
				if n := loads[l]; n > 0 {
					r.tree.Links, r.tree.Load[l] = append(r.tree.Links, l), n
				}
			}
			r.claim(claimant{i, c.urgency[i]}, p)
		}
		if shares := r.claims.shares(2, nil); shares[0] != c.want || shares[0]+shares[1] != 1 {
			t.Errorf("urgency %v: shares %v and %v, want %v", c.urgency, shares[0], shares[1], c.want)
		}
	}
}
