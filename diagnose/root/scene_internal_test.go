package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// readings is the Pressure of a snapshot with the given stalls and uses, percent, and zero otherwise.
func readings(t *testing.T, g *topology.Graph, stalls, uses map[string]float64) (*Pressure, []schema.LinkID) {
	t.Helper()
	snap, region := roottest.Snapshot(t, g, stalls, uses)
	unknown := Past{Before: func(schema.LinkID) float64 { return -1 }}
	return NewFinder(g, routes.NewRouter(g).Grid).On(snap).For(snap.Find(schema.CreditStall), unknown), region
}

// walkOf follows the stall of one region.
func walkOf(p *Pressure) *walk {
	return &walk{ports{p}, &NewFinder(p.graph, nil).down}
}

// walkOnGrid follows the stall of a region of a grid.
func walkOnGrid(f *Finder, p *Pressure) *gridWalk { return f.Region(p, nil).walkBy(p) }

// weightOf returns the stall of links and its sum.
func weightOf(p *Pressure, links []schema.LinkID) (weight []float64, sum float64) {
	for _, l := range links {
		weight = append(weight, p.StallOf(l))
		sum += p.StallOf(l)
	}
	return weight, sum
}

// follow finds the root of a region.
func follow(p *Pressure, links []schema.LinkID) BackPressure {
	return followBy(NewFinder(p.graph, nil), p, links)
}

func followBy(f *Finder, p *Pressure, links []schema.LinkID) BackPressure {
	weight, _ := weightOf(p, links)
	return f.Follow(p, &schema.Region{Metric: schema.CreditStall, Links: links}, weight)
}

// tiedUp is a torus with its Pressure.
type tiedUp struct {
	*roottest.Torus
	f *Finder
	p *Pressure
}

func newTiedUp(t *testing.T) *tiedUp {
	t.Helper()
	u := &tiedUp{Torus: roottest.NewTorus(t)}
	u.f = NewFinder(u.Graph, u.Grid)
	u.p = u.f.On(u.Snap).For(u.Stall, Past{Before: u.Torus.Before})
	return u
}
