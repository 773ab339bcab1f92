package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// readings is the pressure of a snapshot in which each link stalls and carries what is set, percent, and else nothing.
func readings(t *testing.T, g *topology.Graph, stalls, uses map[string]float64) (*Pressure, []schema.LinkID) {
	t.Helper()
	snap, region := roottest.Snapshot(t, g, stalls, uses)
	p := NewFinder(g, routes.NewRouter(g).Grid).On(snap)
	p.Stall, p.Before = snap.Find(schema.CreditStall), func(schema.LinkID) float64 { return -1 }
	return p, region
}

// weightOf is what links stall, and the sum of that.
func weightOf(p *Pressure, links []schema.LinkID) (weight []float64, sum float64) {
	for _, l := range links {
		weight = append(weight, p.StallOf(l))
		sum += p.StallOf(l)
	}
	return weight, sum
}

// follow finds the root of a region.
func follow(p *Pressure, links []schema.LinkID) BackPressure {
	weight, _ := weightOf(p, links)
	return p.Follow(&schema.Region{Metric: schema.CreditStall, Links: links}, weight)
}

// tiedUp is the pressure on a torus.
type tiedUp struct {
	*roottest.Torus
	f *Finder
	p *Pressure
}

func newTiedUp(t *testing.T) *tiedUp {
	t.Helper()
	u := &tiedUp{Torus: roottest.NewTorus(t)}
	u.f = NewFinder(u.Graph, u.Grid)
	u.p = u.f.On(u.Snap)
	u.p.Stall, u.p.Before = u.Stall, u.Torus.Before
	return u
}
