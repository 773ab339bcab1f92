package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestWhatArrivesIsComparedSinceAnOnset: without an onset nothing tells what of the load at a region's end was added.
func TestWhatArrivesIsComparedSinceAnOnset(t *testing.T) {
	u := newTiedUp(t)
	end := u.Device(t, "4,4,4")
	for onset, known := range map[int]bool{3: true, noOnset: false} {
		rc := &regionCase{in: &u.stage.interval, region: &schema.Region{},
			timeline: timeline{clock: u.stage.history.Clock, stall: make([]float64, 4), onset: onset},
			ends:     ends{drain: root.Drain{Device: end, Fit: .8, Grew: true}}}
		for _, l := range u.Graph.LinksAt(end) {
			u.p.Use.Values[l], u.Was[l] = 20, 10
		}
		if arrives, flooded := gridOf(rc).arriving(&rc.ends, u.p); arrives.known != known || flooded != known {
			t.Errorf("onset %d: arrives %+v, added %v", onset, arrives, flooded)
		}
	}
}

// TestAFullLinkComesBeforeTheNodes: traffic that waits for a full link need not end at the nodes of the switch behind
// it.
func TestAFullLinkComesBeforeTheNodes(t *testing.T) {
	tree := root.Drain{Device: 7, Fit: .8}
	for name, c := range map[string]struct {
		ends  ends
		at    topology.DeviceID
		known bool
	}{
		"no tree":           {ends{fullLink: schema.NoLink}, 0, false},
		"a tree":            {ends{fullLink: schema.NoLink, drain: tree}, 7, true},
		"behind a full one": {ends{fullLink: 3, drain: tree}, 7, false},
		"places say another": {ends{fullLink: schema.NoLink, drain: tree, endings: root.Endings{OfMeans: true,
			Any: root.Ending{Found: true, Device: 9, Link: schema.NoLink}}}, 9, true},
	} {
		if at, known := c.ends.endBeyondLinks(); known != c.known || known && at != c.at {
			t.Errorf("%s: ends at %d (%v)", name, at, known)
		}
	}
}
