package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology/topologytest"
)

// TestCarriesForDead: of a full link from before whose onset nothing is remembered, those parallel to it that a failure
// cut off tell how much it carries for them.
func TestCarriesForDead(t *testing.T) {
	g := topologytest.WithAdapters(t, topologytest.Parse(t, "test", "fattree:leaves=2,hosts=3,spines=2,rails=4"))
	for _, c := range []struct {
		name   string
		full   string
		live   []string // parallel links that carry some
		failed string   // a link of the port that failed
		onset  int
		want   float64
	}{
		{"one of two uplinks", "leaf0-1>spine0", nil, "leaf0-1>spine1", noOnset, 1},
		{"one of two links down", "spine0>leaf0-1", nil, "leaf0-1>spine1", noOnset, 1},
		{"an uplink of another leaf", "leaf0-1>spine0", nil, "leaf1-1>spine1", noOnset, 0},
		{"what was there before is known", "leaf0-1>spine0", nil, "leaf0-1>spine1", 3, 0},
		{"another adapter of the host", "leaf0-1>host3 mlx5_0", nil, "leaf1-1>host3 mlx5_1", noOnset, 1},
		{"one of four adapters", "leaf0-1>host3 mlx5_0", []string{"leaf2-1>host3 mlx5_2", "leaf3-1>host3 mlx5_3"}, "leaf1-1>host3 mlx5_1", noOnset, .375},
		{"it carries load", "leaf0-1>spine0", []string{"leaf0-1>spine1"}, "leaf0-1>spine1", noOnset, 0},
	} {
		use := map[string]float64{c.full: 90}
		for _, l := range c.live {
			use[l] = 40
		}
		p, _ := readings(t, g, nil, use)
		router, h := routes.NewRouter(g), remembersAt(g, history.Clock{Duration: 60e9})
		l := g.Link(roottest.Link(t, g, c.failed))
		f := history.PlacedFailure{Failure: schema.Failure{Kind: schema.LinkFailed, Device: g.Device(l.From).Name, Port: l.FromPort}}
		f.Place(g)
		h.Failures = []history.PlacedFailure{f}
		in := interval{graph: g, router: router, history: h, read: &p.Readings, measuresLoad: true}
		rc := &regionCase{in: &in, pressure: p, region: &schema.Region{}, root: rootLoad{link: roottest.Link(t, g, c.full), carries: .9e9},
			timeline: timeline{clock: h.Clock, onset: c.onset, burst: noOnset}}
		if got := rc.carriesForDead(&f); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %.3f, want %.3f", c.name, got, c.want)
		}
	}
}
