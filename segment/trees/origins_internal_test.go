package trees

import (
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/segment/trees/index"
	"github.com/giverny/giverny/topology"
)

func overlapping() Config { return Config{MinMeanPercent: 5, Overlap: true} }

// beginsAt reports whether back pressure may begin at a port.
func beginsAt(t *testing.T, g *topology.Graph, values stalls.Painting, from, to string) bool {
	t.Helper()
	m := New(g, overlapping())
	m.measure(index.Readings(values))
	m.findLinks(index.Readings(values))
	i := m.Node[stalls.LinkNamed(t, g, from, to)]
	return i >= 0 && m.isLinkSink[i]
}

// A root is visible where few ports stall and other links wait; two ports to hosts that send are an exchange's.
func TestRootIsSeenToStall(t *testing.T) {
	for name, c := range map[string]struct {
		sink
		want bool
	}{
		"one port":              {sink{links: 3, ports: 1, port: 40}, true},
		"nothing waits":         {sink{links: 1, ports: 1, port: 40}, false},
		"no port stalls":        {sink{links: 3}, false},
		"many ports":            {sink{links: 3, ports: 6, hosts: 8, port: 40}, false},
		"both hosts send":       {sink{links: 3, ports: 2, sending: 2, hosts: 8, port: 40}, false},
		"one of two hosts does": {sink{links: 3, ports: 2, sending: 1, hosts: 8, port: 40}, true},
	} {
		if got := c.showsRoot(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Many stalled ports are an exchange, not the roots of trees: more than three, or three of four.
func TestManyPorts(t *testing.T) {
	for _, c := range []struct {
		ports, hosts int
		want         bool
	}{{2, 4, false}, {3, 4, true}, {3, 8, false}, {4, 8, true}, {1, 1, false}} {
		s := sink{ports: c.ports, hosts: c.hosts}
		if got := s.hasManyPorts(); got != c.want {
			t.Errorf("%d of %d ports are many: %v, want %v", c.ports, c.hosts, got, c.want)
		}
	}
}

// Of two stalled ports to hosts of a switch, each is a root if they differ or neither host sends, and the links that
// wait there stall less.
func TestPairOfPorts(t *testing.T) {
	g := stalls.Fabric(t, stalls.TwoLevels)
	two := stalls.ByEnds{{"leaf2", "host16"}: 60, {"leaf2", "host17"}: 40,
		{"spine0", "leaf2"}: 50, {"spine1", "leaf2"}: 50, {"spine2", "leaf2"}: 30, {"spine3", "leaf2"}: 30}
	for _, c := range []struct {
		name  string
		other stalls.ByEnds
		want  bool
	}{
		{"two ports differ", nil, true},
		{"they are alike", stalls.ByEnds{{"leaf2", "host17"}: 59}, true},
		{"they are alike, and one host sends", stalls.ByEnds{{"leaf2", "host17"}: 59, {"host17", "leaf2"}: 30}, true},
		{"they are alike, and both hosts send", stalls.ByEnds{{"leaf2", "host17"}: 59, {"host16", "leaf2"}: 30, {"host17", "leaf2"}: 30}, false},
		{"they and what waits are alike, and one host sends", stalls.ByEnds{{"leaf2", "host17"}: 59, {"host17", "leaf2"}: 55, {"spine0", "leaf2"}: 55, {"spine1", "leaf2"}: 55}, false},
		{"a third stalls", stalls.ByEnds{{"leaf2", "host18"}: 50}, false},
		{"one stalls hardly", stalls.ByEnds{{"leaf2", "host17"}: 0}, false},
		{"what waits is hotter", stalls.ByEnds{{"spine0", "leaf2"}: 95, {"spine1", "leaf2"}: 95, {"spine2", "leaf2"}: 95}, false},
	} {
		if got := beginsAt(t, g, two.With(c.other).On(t, g), "leaf2", "host16"); got != c.want {
			t.Errorf("%s: a root is %v, want %v", c.name, got, c.want)
		}
	}
}
