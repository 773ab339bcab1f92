package root

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestWhatPassesDoesNotEnd: of two neighbours on a line, added load ends at the nodes of the one where no link takes on
// what the others bring, although the links of the other stall more.
func TestWhatPassesDoesNotEnd(t *testing.T) {
	u := newTiedUp(t)
	var region []schema.LinkID
	for name, shows := range map[string]struct{ stall, use, before float32 }{
		"1,0,0>2,0,0": {7, 4, 0}, "1,0,0>1,1,0": {42, 41, 0}, "1,0,0>1,0,1": {42, 17, 0},
		"0,0,1>1,0,1": {5, 3, 0}, "1,0,1>2,0,1": {8, 3, 0}, "1,7,1>1,0,1": {0, 22, 21}, "1,0,1>1,1,1": {30, 55, 21},
		"1,0,1>1,0,2": {60, 21, 0},
		"0,0,2>1,0,2": {0, 2, 0}, "1,0,2>2,0,2": {31, 5, 0}, "1,0,2>1,1,2": {60, 46, 0},
	} {
		l := roottest.Link(t, u.Graph, name)
		u.p.Stall.Values[l], u.p.Use.Values[l], u.Was[l] = shows.stall, shows.use, float64(shows.before)
		if shows.stall >= schema.LowPercent {
			region = append(region, l)
		}
	}
	slices.Sort(region)
	r := u.f.Region(u.p, region)
	drain, _ := r.Drain(nil)
	ends := r.Endings(&drain)
	if at := u.Graph.Device(ends.Nodes.Device).Name; at != "1,0,1" {
		t.Errorf("ends at the nodes of %s, want those of 1,0,1, where most stays", at)
	}
}
