package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// On a torus the root is where back pressure ends; of a slow host the switch whose nodes take too little. There is none
// if level stall is all that is known, unless no load is read and stall has a centre at a switch's nodes; its kind is
// then known of a job's load only.
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
		link    schema.LinkID
		atNodes float64
		loads   bool
		want    string
		kind    string
	}{
		{"load", schema.CauseSystem, tree, false, schema.NoLink, 0, true, g.Device(placeEnd).Name, schema.RootIncast},
		{"slow host", schema.CauseSlowHost, tree, false, schema.NoLink, 0, true, g.Device(slowEnd).Name, schema.RootSlowReceiver},
		{"slow host, level stall", schema.CauseSlowHost, root.Drain{}, false, schema.NoLink, .95, true, "", ""},
		{"level stall", schema.CauseSystem, root.Drain{}, false, schema.NoLink, .95, true, "", ""},
		{"level stall, means", schema.CauseSystem, root.Drain{}, true, schema.NoLink, 0, true, g.Device(placeEnd).Name, schema.RootIncast},
		{"stall with a centre, no loads", schema.CauseSystem, root.Drain{}, false, schema.NoLink, .95, false, g.Device(placeEnd).Name, schema.RootIncast},
		{"the same without a cause", schema.CauseUnknown, root.Drain{}, false, schema.NoLink, .95, false, g.Device(placeEnd).Name, ""},
		{"stall that probably ends at some link", schema.CauseSystem, root.Drain{}, false, schema.NoLink, .3, false, "", ""},
		{"at nodes, though one link is likelier than any", schema.CauseSystem, root.Drain{}, false, 7, .6, false, g.Device(placeEnd).Name, schema.RootIncast},
	} {
		end := root.Ending{Found: true, Device: placeEnd, Link: c.link}
		s.measuresLoad = c.loads
		rc := &regionCase{in: &s.interval, nodes: g.Device(placeEnd), ends: ends{drain: c.drain, fullLink: schema.NoLink, bottleneck: root.Bottleneck{Link: schema.NoLink}, endings: root.Endings{Any: end, Nodes: root.Ending{Found: true, Device: placeEnd, Link: schema.NoLink}, Slow: slowEnd, OfMeans: c.ofMeans, AtNodes: c.atNodes}}}
		got, kind := "", ""
		rc.verdict.class = c.class
		if r := rc.rootPort(); r != nil {
			got, kind = r.Device, r.Kind
		}
		if got != c.want || kind != c.kind {
			t.Errorf("%s: root %q at %q, want %q at %q", c.name, kind, got, c.kind, c.want)
		}
	}
}

// TestASlowLinkIsTheRoot: a link of a torus that shows on its own that it lost rate is the root, even if back pressure
// more probably ends at another.
func TestASlowLinkIsTheRoot(t *testing.T) {
	u := newTiedUp(t)
	const slow, probable schema.LinkID = 7, 40
	from, _ := u.Graph.Ends(slow)
	at, _ := u.Graph.Ends(probable)
	place := root.Ending{Found: true, Device: at, Link: probable}
	for sole, want := range map[bool]schema.LinkID{true: slow, false: probable} {
		rc := &regionCase{in: &u.stage.interval, verdict: verdict{class: schema.CauseFailure}, ends: ends{
			fullLink: schema.NoLink, endings: root.Endings{Any: place, Link: place},
			bottleneck: root.Bottleneck{Link: slow, Tail: from, Fit: 1, Slower: true, Sole: sole}}}
		if r := rc.rootPort(); r == nil || r.Link != want {
			t.Errorf("shows on its own: %t: root %+v, want link %d", sole, r, want)
		}
	}
}
