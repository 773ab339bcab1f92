// Package roottest sets up what the links of a fabric show in an interval, for tests of roots and of verdicts: names of
// devices and percents go in, snapshots and the links of a region come out.
package roottest

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Graph is the fabric of a specification.
func Graph(t testing.TB, spec string) *topology.Graph {
	t.Helper()
	g, err := topology.Parse("test", spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Link finds the link of a name like "leaf0>spine1".
func Link(t testing.TB, g *topology.Graph, name string) schema.LinkID {
	t.Helper()
	for l := range schema.LinkID(g.NumLinks()) {
		from, to := g.Ends(l)
		if g.Device(from).Name+">"+g.Device(to).Name == name {
			return l
		}
	}
	t.Fatalf("no link %s", name)
	return schema.NoLink
}

// Snapshot is one in which each link stalls for credits and carries what is set by its name, percent, and else nothing. The
// region is the links that stall, ascending.
func Snapshot(t testing.TB, g *topology.Graph, stalls, uses map[string]float64) (snap *schema.Snapshot, region []schema.LinkID) {
	t.Helper()
	snap = calm(g)
	for i, values := range []map[string]float64{stalls, uses} {
		for name, v := range values {
			l := Link(t, g, name)
			if snap.Series[i].Values[l] = float32(v); i == 0 {
				region = append(region, l)
			}
		}
	}
	slices.Sort(region)
	return snap, region
}

// calm is a snapshot in which all links are read and none stalls for credits or carries anything.
func calm(g *topology.Graph) *schema.Snapshot {
	n := g.NumLinks()
	snap := &schema.Snapshot{Links: n}
	for _, m := range []schema.Metric{schema.CreditStall, schema.BandwidthUsed} {
		series := schema.Series{Metric: m, Values: make([]float32, n), Valid: schema.NewBitmap(n), Count: n}
		for l := range n {
			series.Valid.Set(l)
		}
		snap.Series = append(snap.Series, series)
	}
	return snap
}
