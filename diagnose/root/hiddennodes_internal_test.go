package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// directedRing is a ring of switches whose links have directions: a grid, or any graph.
func directedRing(t *testing.T, isGrid bool) *topology.Graph {
	t.Helper()
	names := [...]string{"a", "b", "c", "d"}
	b := topology.NewBuilder("ring")
	if isGrid {
		b.SetGrid(topology.Grid{Dims: []int{len(names)}, Wrap: true})
	}
	for s, name := range names {
		b.Device(topology.Device{Name: name, Kind: topology.Switch, Level: -1, Group: -1, Coord: []int{s}})
	}
	for s := range names {
		b.Both(topology.Link{From: topology.DeviceID(s), To: topology.DeviceID((s + 1) % len(names)), FromPort: "X+",
			ToPort: "X-", CapacityBytesPerSecond: 1e9, Class: topology.ClassTorus})
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestInputsMayWaitForHiddenNodes: what waits at a switch of a grid may wait for its nodes, whose links are not shown, so
// that no port there is slow, unless what waits at the other end of its cable shows the same.
func TestInputsMayWaitForHiddenNodes(t *testing.T) {
	for name, c := range map[string]struct {
		isGrid   bool
		otherEnd float64 // stall of the input at the other end, percent
		cannot   bool
	}{
		"a grid":                  {true, 0, false},
		"no grid":                 {false, 0, true},
		"a grid, both ends of it": {true, 60, true},
	} {
		g := directedRing(t, c.isGrid)
		p, _ := readings(t, g, map[string]float64{"a>b": 60, "d>c": c.otherEnd}, map[string]float64{"b>c": 20, "c>b": 20})
		port := ports{p}.classify(Port{Link: roottest.Link(t, g, "b>c")})
		if port.Kind != schema.RootLinkCapacity || port.Cannot != c.cannot || port.Slower != c.cannot {
			t.Errorf("%s: %+v, want that it cannot send more: %v", name, port, c.cannot)
		}
	}
}

// TestStallEndsAtHiddenNodes: what waits at a switch of a grid for none of its ports waits for its nodes, if these take in
// more than before, and that came over the links that wait: not if they only send less.
func TestStallEndsAtHiddenNodes(t *testing.T) {
	for name, c := range map[string]struct {
		isGrid      bool
		before, out float64 // use of the stalled input before the onset, and of the way on then
		want        string
	}{
		"they take in more":      {true, 0, 0, schema.RootIncast},
		"as much as before":      {true, 40, 0, ""},
		"they send less":         {true, 40, 40, ""},
		"no grid has such nodes": {false, 0, 0, ""},
	} {
		g := directedRing(t, c.isGrid)
		p, region := readings(t, g, map[string]float64{"a>b": 60}, map[string]float64{"a>b": 40})
		p.Before = func(l schema.LinkID) float64 {
			switch l {
			case roottest.Link(t, g, "a>b"):
				return c.before
			case roottest.Link(t, g, "b>c"):
				return c.out
			}
			return 0
		}
		b := followBy(NewFinder(g, routes.NewRouter(g).Grid), p, region)
		if got := b.Switch.Kind; got != c.want || c.want != "" && (!b.IsIncast() || g.Device(b.Switch.Device).Name != "b") {
			t.Errorf("%s: %+v, want %q", name, b, c.want)
		}
	}
}

// TestTrafficTakesDimensionsInOrder: on a grid, what came along a dimension goes on along it or along a later one.
func TestTrafficTakesDimensionsInOrder(t *testing.T) {
	b := topology.NewBuilder("plane")
	b.SetGrid(topology.Grid{Dims: []int{2, 2}})
	for s, name := range []string{"00", "10", "01", "11"} {
		b.Device(topology.Device{Name: name, Kind: topology.Switch, Level: -1, Group: -1, Coord: []int{s % 2, s / 2}})
	}
	for _, l := range []topology.Link{
		{From: 0, To: 1, FromPort: "X+", ToPort: "X-"}, {From: 2, To: 3, FromPort: "X+", ToPort: "X-"},
		{From: 0, To: 2, FromPort: "Y+", ToPort: "Y-", Dim: 1}, {From: 1, To: 3, FromPort: "Y+", ToPort: "Y-", Dim: 1},
	} {
		l.CapacityBytesPerSecond, l.Class = 1e9, topology.ClassTorus
		b.Both(l)
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	h := NewFinder(g, routes.NewRouter(g).Grid).hops
	for _, c := range []struct {
		from, to string
		may      bool
	}{{"00>10", "10>11", true}, {"00>01", "01>11", false}} {
		if got := h.mayWait(roottest.Link(t, g, c.from), roottest.Link(t, g, c.to)); got != c.may {
			t.Errorf("%s to %s: %v", c.from, c.to, got)
		}
	}
}
