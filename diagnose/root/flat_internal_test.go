package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestALinkThatLostRateCarriesTheSame: if stall ends at a link that carries less than before, and a constant load in
// all intervals since the onset, that load is its rate.
func TestALinkThatLostRateCarriesTheSame(t *testing.T) {
	for _, c := range []struct {
		name    string
		carries float32
		waits   float32 // stall of the link before it
		varies  bool
		stalls  string // another way on that stalls
		isFound bool
	}{
		{name: "the same", carries: 12.4, waits: 95, isFound: true},
		{name: "the same, less than a lane", carries: 5.6, waits: 95, isFound: true},
		{name: "varies", carries: 12.4, waits: 95, varies: true},
		{name: "next to nothing", carries: 1.6, waits: 95},
		{name: "what leads to it waits for a part of the time", carries: 12.4, waits: 40},
		{name: "another way on waits", carries: 12.4, waits: 95, stalls: "0,2,3>0,2,4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newTiedUp(t)
			slow, fed := roottest.Link(t, u.Graph, "0,2,3>0,3,3"), roottest.Link(t, u.Graph, "0,1,3>0,2,3")
			u.p.Flat = func(l schema.LinkID) bool { return l == slow && !c.varies }
			u.Was[slow], u.Was[fed] = 40, 40
			u.Use.Values[slow], u.Use.Values[fed], u.Stall.Values[fed] = c.carries, 10, c.waits
			if c.stalls != "" {
				u.Stall.Values[roottest.Link(t, u.Graph, c.stalls)] = 60
			}
			n := walkOnGrid(u.f, u.p).flatBottleneck([]schema.LinkID{fed})
			if found := n.Link == slow && n.Tail == u.Device(t, "0,2,3") && n.Cannot && n.Sole; found != c.isFound {
				t.Errorf("%+v: found %v, want %v", n, found, c.isFound)
			}
		})
	}
}
