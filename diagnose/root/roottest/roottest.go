// Package roottest builds the readings of a fabric in an interval for tests of roots and verdicts: device names and
// percents go in, snapshots and the links of a region come out.
package roottest

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Graph parses a topology specification.
func Graph(t testing.TB, spec string) *topology.Graph {
	t.Helper()
	g, err := topology.Parse("test", spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Link finds a link by a name like "leaf0>spine1".
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

// Snapshot returns a snapshot with the given credit stalls and uses, percent, by link name, and zero otherwise. The
// region is the links with a given stall, ascending.
func Snapshot(t testing.TB, g *topology.Graph, stalls, uses map[string]float64,
) (snap *schema.Snapshot, region []schema.LinkID) {
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

// calm is a snapshot in which every link has readings, all zero.
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
