package root

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology/topologytest"
)

// TestSharedWaysAreThoseFoundAlone: what is kept from one region to the next has no effect on the next, whatever
// changes.
func TestSharedWaysAreThoseFoundAlone(t *testing.T) {
	g := topologytest.Parse(t, "ft", "fattree:leaves=6,hosts=4,spines=3")
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(m schema.Metric, most float32) schema.Series {
		s := schema.Series{Metric: m, Values: make([]float32, g.NumLinks()), Valid: schema.NewBitmap(g.NumLinks())}
		for l := range s.Values {
			if s.Values[l] = most * rng.Float32(); rng.IntN(8) > 0 {
				s.Valid.Set(l)
			}
		}
		return s
	}
	shared, followed := NewFinder(g, nil), 0
	for range 20 {
		snap := &schema.Snapshot{Links: g.NumLinks(),
			Series: []schema.Series{draw(schema.XmitWait, 60), draw(schema.PFCPauseRx(3), 60),
				draw(schema.BandwidthUsed, 100)}}
		for l := range g.NumLinks() {
			if l/2%2 == 0 { // a cable that sends whenever it does not stall
				snap.Series[0].Values[l] /= 6
				snap.Series[2].Values[l] = 100 - snap.Series[0].Values[l]
			}
		}
		r, past := shared.On(snap), Past{}
		for since := range uint32(24) {
			before := draw(schema.BandwidthUsed, 100)
			past.Number = since / 4
			if since%4 == 0 {
				past.Before = func(l schema.LinkID) float64 { return float64(before.Values[l]) - 50 }
			}
			var links []schema.LinkID
			for l := range schema.LinkID(g.NumLinks()) {
				if uint32(l)/2%2 == since%2 && rng.IntN(3) == 0 {
					links = append(links, l)
				}
			}
			p := r.For(&snap.Series[rng.IntN(2)], past)
			alone := NewFinder(g, nil)
			followBy(shared, p, links)
			followBy(alone, p, links)
			got, want := &shared.down, &alone.down
			if !slices.Equal(got.toPort, want.toPort) || !slices.Equal(got.at, want.at) ||
				!slices.Equal(got.portless, want.portless) {
				t.Fatalf("after other regions, %v waits for ports, alone %v", got.toPort, want.toPort)
			}
			if len(got.known) > 0 {
				followed++
			}
		}
	}
	if followed < 20 {
		t.Errorf("only %d of 480 regions wait for known ports", followed)
	}
}
