package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
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
