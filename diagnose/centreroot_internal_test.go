package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// On a torus the root is where back pressure ends; of a slow host the switch whose nodes take too little. There is none if level
// stall is all that is known.
func TestRootOnATorus(t *testing.T) {
	g := roottest.Graph(t, "torus:4x4x4")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	const slowEnd, placeEnd topology.DeviceID = 5, 9
	tree := root.Drain{Device: placeEnd, Fit: .8}
	if !tree.IsRoot() {
		t.Fatal("the tree is none that names a root")
	}
	for _, c := range []struct {
		name    string
		class   schema.CauseClass
		drain   root.Drain
		ofMeans bool
		want    string
	}{
		{"load", schema.CauseSystem, tree, false, g.Device(placeEnd).Name},
		{"slow host", schema.CauseSlowHost, tree, false, g.Device(slowEnd).Name},
		{"slow host, level stall", schema.CauseSlowHost, root.Drain{}, false, ""},
		{"level stall", schema.CauseSystem, root.Drain{}, false, ""},
		{"level stall, means", schema.CauseSystem, root.Drain{}, true, g.Device(placeEnd).Name},
	} {
		end := root.Ending{Found: true, Device: placeEnd, Link: schema.NoLink}
		rc := &regionCase{interval: &s.interval, nodes: g.Device(placeEnd), ends: ends{drain: c.drain, full: schema.NoLink, neck: root.Neck{Link: schema.NoLink}, endings: root.Endings{Any: end, Nodes: end, Slow: slowEnd, OfMeans: c.ofMeans}}}
		got := ""
		rc.verdict.class = c.class
		if r := (&report{rc}).centreRoot(); r != nil {
			got = r.Device
		}
		if got != c.want {
			t.Errorf("%s: root at %q, want %q", c.name, got, c.want)
		}
	}
}
