package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// readings is the pressure of a snapshot in which each link has the given stall and load, percent, or 0.
func readings(t *testing.T, g *topology.Graph, stalls, uses map[string]float64) (*root.Pressure, []schema.LinkID) {
	t.Helper()
	snap, region := roottest.Snapshot(t, g, stalls, uses)
	unknown := root.Past{Before: func(schema.LinkID) float64 { return -1 }}
	return root.NewFinder(g, routes.NewRouter(g).Grid).On(snap).For(snap.Find(schema.CreditStall), unknown), region
}

// tiedUp is the pressure on a torus, with a stage for it.
type tiedUp struct {
	*roottest.Torus
	stage *Stage
	p     *root.Pressure
}

func newTiedUp(t *testing.T) *tiedUp {
	t.Helper()
	u := &tiedUp{Torus: roottest.NewTorus(t)}
	s, err := New(u.Graph, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.read = s.finder.On(u.Snap)
	u.stage, u.p = s, s.read.For(u.Stall, root.Past{Before: u.Torus.Before})
	return u
}

// remembersAt returns a history of a fabric that remembers nothing but the time.
func remembersAt(g *topology.Graph, c history.Clock) *history.History {
	h := history.New(g, routes.NewRouter(g), history.Limits{Window: 30, MaxLag: 25, Jobs: 1000})
	h.Clock = c
	return h
}

// times is a ratio of loads in a table of cases, in which 0 stands for one that is not known.
func times(v float64) ratio { return ratio{v, v > 0} }

func gridOf(rc *regionCase) grid { return grid{rc} }

func directedOf(rc *regionCase) directed { return directed{rc} }
