package trees

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/topology"
)

func overlapping() Config { return Config{MinMeanPercent: 5, Overlap: true} }

// beginsAt reports whether back pressure may begin at a link.
func beginsAt(t *testing.T, g *topology.Graph, values stalls.Painting, from, to string) bool {
	t.Helper()
	m := New(g, overlapping())
	m.measure(values)
	m.findLinks(values)
	i := m.node[stalls.LinkNamed(t, g, from, to)]
	return i >= 0 && m.slow[i]
}

// A link between switches may be a root if it is clearly hotter than all that it may wait for, alone in that, and at least
// three links wait for it that do not stall as those beside them do.
func TestSlowLinks(t *testing.T) {
	g := stalls.Fabric(t, stalls.TwoLevels)
	slow := stalls.ByEnds{{"spine1", "leaf2"}: 50, {"leaf3", "spine1"}: 41, {"leaf4", "spine1"}: 42, {"leaf5", "spine1"}: 40}
	for _, c := range []struct {
		name  string
		other stalls.ByEnds
		want  bool
	}{
		{"three links wait", nil, true},
		{"two links wait", stalls.ByEnds{{"leaf5", "spine1"}: 0}, false},
		{"a port behind it stalls as much", stalls.ByEnds{{"leaf2", "host18"}: 47}, false},
		{"a port behind it stalls less", stalls.ByEnds{{"leaf2", "host18"}: 15}, true},
		{"another link into the same switch waits for the same", stalls.ByEnds{{"spine0", "leaf2"}: 45}, false},
		{"another link into the same switch hardly waits", stalls.ByEnds{{"spine0", "leaf2"}: 15}, true},
		{"another link leaves its switch as stalled", stalls.ByEnds{{"spine1", "leaf6"}: 45}, true},
		{"what waits stalls as all that leaves its leaf", stalls.ByEnds{{"leaf3", "spine0"}: 41, {"leaf3", "spine2"}: 41, {"leaf3", "spine3"}: 41}, false},
		{"what waits is hotter by far", stalls.ByEnds{{"leaf3", "spine1"}: 95, {"leaf4", "spine1"}: 95}, false},
		{"a host of the same switch stalls alone", stalls.ByEnds{{"host18", "leaf2"}: 45}, true},
		{"hosts of the same switch wait for another of its ports", stalls.ByEnds{{"host18", "leaf2"}: 45, {"host19", "leaf2"}: 45}, false},
	} {
		if got := beginsAt(t, g, slow.With(c.other).On(t, g), "spine1", "leaf2"); got != c.want {
			t.Errorf("%s: slow is %v, want %v", c.name, got, c.want)
		}
	}
}

// Of a leaf's links up, the only one that its hosts wait for is slow, where the tree behind comes over several.
func TestOnlyWay(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=4,hosts=16,spines=8")
	only := stalls.ByEnds{{"leaf1", "spine1"}: 32,
		{"spine1", "leaf2"}: 31, {"leaf2", "host34"}: 36}
	for _, spine := range []string{"spine0", "spine2", "spine3", "spine4"} {
		only[[2]string{spine, "leaf2"}] = 30
	}
	for host := 16; host < 28; host++ {
		only[[2]string{fmt.Sprint("host", host), "leaf1"}] = 28
	}
	few := stalls.ByEnds{}
	for host := 20; host < 28; host++ {
		few[[2]string{fmt.Sprint("host", host), "leaf1"}] = 0
	}
	for _, c := range []struct {
		name  string
		other stalls.ByEnds
		want  bool
	}{
		{"twelve hosts wait for one of eight", nil, true},
		{"four hosts wait for one of eight", few, false},
		{"for two of eight", stalls.ByEnds{{"leaf1", "spine3"}: 20}, true},
		{"the other falls less", stalls.ByEnds{{"leaf1", "spine2"}: 40}, false},
		{"for five of eight", stalls.ByEnds{{"leaf1", "spine3"}: 20, {"leaf1", "spine4"}: 20, {"leaf1", "spine5"}: 20, {"leaf1", "spine6"}: 20}, false},
		{"a port to a host there stalls", stalls.ByEnds{{"leaf1", "host30"}: 20}, false},
		{"the tree behind comes over few, too", stalls.ByEnds{{"spine0", "leaf2"}: 0, {"spine2", "leaf2"}: 0}, false},
		{"a host waits for something hotter", stalls.ByEnds{{"host16", "leaf1"}: 90}, false},
	} {
		if got := beginsAt(t, g, only.With(c.other).On(t, g), "leaf1", "spine1"); got != c.want {
			t.Errorf("%s: slow is %v, want %v", c.name, got, c.want)
		}
	}
	if beginsAt(t, g, only.On(t, g), "spine1", "leaf2") {
		t.Error("a link down to the root of the tree counts as an only way up")
	}
}

// Links that alone stall of the ways up from their leaves and meet at one spine wait for a port of it, not for the tree that
// comes over several spines; few do so by chance.
func TestLonelyLinksWaitWhereTheyMeet(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=12,hosts=4,spines=8")
	s := stalls.ByEnds{{"leaf3", "host12"}: 60}
	for spine := range 4 {
		s[[2]string{fmt.Sprint("spine", spine), "leaf3"}] = 49
	}
	for leaf := 4; leaf < 10; leaf++ {
		s[[2]string{fmt.Sprint("leaf", leaf), "spine1"}] = 44
	}
	for spine := range 4 {
		s[[2]string{"leaf10", fmt.Sprint("spine", spine)}] = 40
	}
	for _, c := range []struct {
		name  string
		other stalls.ByEnds
		want  bool
	}{
		{"six leaves", nil, true},
		{"four leaves", stalls.ByEnds{{"leaf4", "spine1"}: 0, {"leaf5", "spine1"}: 0}, false},
		{"of two leaves other ways up stall", stalls.ByEnds{{"leaf4", "spine0"}: 43, {"leaf5", "spine0"}: 43}, false},
		{"nothing else waits for the tree over other spines", stalls.ByEnds{{"leaf10", "spine0"}: 0, {"leaf10", "spine2"}: 0, {"leaf10", "spine3"}: 0}, false},
		{"the tree comes over one spine", stalls.ByEnds{{"spine0", "leaf3"}: 0, {"spine2", "leaf3"}: 0, {"spine3", "leaf3"}: 0}, false},
	} {
		m := New(g, overlapping())
		values := s.With(c.other).On(t, g)
		m.measure(values)
		m.findLinks(values)
		m.findSinks()
		i := m.node[stalls.LinkNamed(t, g, "leaf9", "spine1")]
		if got := m.sink[i] == m.to[i]; got != c.want {
			t.Errorf("%s: waits at the spine is %v, want %v", c.name, got, c.want)
		}
	}
}

// A root is seen to stall where a slow link or few ports do and others wait; two ports of hosts that send are an exchange's.
func TestRootIsSeenToStall(t *testing.T) {
	for name, c := range map[string]struct {
		sink
		want bool
	}{
		"one port":              {sink{slow: -1, links: 3, ports: 1, port: 40}, true},
		"nothing waits":         {sink{slow: -1, links: 1, ports: 1, port: 40}, false},
		"no port stalls":        {sink{slow: -1, links: 3}, false},
		"a slow link":           {sink{slow: 7, links: 3}, true},
		"many ports":            {sink{slow: -1, links: 3, ports: 6, hosts: 8, port: 40}, false},
		"both hosts send":       {sink{slow: -1, links: 3, ports: 2, sending: 2, hosts: 8, port: 40}, false},
		"one of two hosts does": {sink{slow: -1, links: 3, ports: 2, sending: 1, hosts: 8, port: 40}, true},
	} {
		if got := c.showsRoot(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Many ports that stall are an exchange, not the roots of trees: more than three, or three of four.
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

// Of two ports to hosts that stall at a switch each is a root if they differ, and what waits there stalls less.
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
		{"they are alike", stalls.ByEnds{{"leaf2", "host17"}: 59}, false},
		{"a third stalls", stalls.ByEnds{{"leaf2", "host18"}: 50}, false},
		{"one stalls hardly", stalls.ByEnds{{"leaf2", "host17"}: 0}, false},
		{"what waits is hotter", stalls.ByEnds{{"spine0", "leaf2"}: 95, {"spine1", "leaf2"}: 95, {"spine2", "leaf2"}: 95}, false},
	} {
		if got := beginsAt(t, g, two.With(c.other).On(t, g), "leaf2", "host16"); got != c.want {
			t.Errorf("%s: a root is %v, want %v", c.name, got, c.want)
		}
	}
}
