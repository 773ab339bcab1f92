package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestSlowPortIsTheOneAllWaitFor: of several ports that lost traffic, the slow one is that for which every input may
// wait. Traffic from a neighbour does not go back to it.
func TestSlowPortIsTheOneAllWaitFor(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, links := readings(t, g,
		map[string]float64{"leaf0>spine0": 70, "leaf1>spine0": 70, "leaf2>spine0": 70},
		map[string]float64{"leaf0>spine0": 20, "leaf1>spine0": 20, "leaf2>spine0": 20, "leaf3>spine0": 20,
			"spine0>leaf0": 20, "spine0>leaf1": 10, "spine0>leaf2": 15, "spine0>leaf3": 25})
	p.Before = func(schema.LinkID) float64 { return 50 }
	spine, _ := g.FindDevice("spine0")
	if got, want := (ports{p}).slowest(spine, links), roottest.Link(t, g, "spine0>leaf3"); got != want {
		from, to := g.Ends(got)
		t.Errorf("%s>%s is slow, want spine0>leaf3", g.Device(from).Name, g.Device(to).Name)
	}
}

// TestBusiestPort: if stall ends at a switch without a full port, the port with the highest use is reported, but no
// root decides the class.
func TestBusiestPort(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, links := readings(t, g,
		map[string]float64{"spine0>leaf0": 40, "spine1>leaf0": 40},
		map[string]float64{"spine0>leaf0": 60, "spine1>leaf0": 60, "leaf0>host0": 66, "leaf0>host1": 71,
			"leaf0>host2": 68, "leaf0>spine0": 90})
	back := follow(p, links)
	if back.Root.Kind != "" || back.Leading.Link != roottest.Link(t, g, "leaf0>host1") {
		t.Errorf("root %q, reported link %d, want no root and leaf0>host1", back.Root.Kind, back.Leading.Link)
	}
}

// TestRootIsTheReceiversPort: if traffic to one host merges at a spine, the root is the host's port, which is as full.
// For traffic to two hosts there is no such port, and the root is the spine's.
func TestRootIsTheReceiversPort(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	for _, c := range []struct {
		name string
		uses map[string]float64
		want string
	}{
		{"one receiver", map[string]float64{"spine0>leaf3": 100, "leaf3>host12": 99}, "leaf3>host12"},
		{"two receivers", map[string]float64{"spine0>leaf3": 100, "leaf3>host12": 50, "leaf3>host13": 50},
			"spine0>leaf3"},
		{"two full receivers", map[string]float64{"spine0>leaf3": 100, "leaf3>host12": 100, "leaf3>host13": 98},
			"spine0>leaf3"},
	} {
		p, links := readings(t, g, map[string]float64{"leaf0>spine0": 70, "leaf1>spine0": 70, "leaf2>spine0": 70},
			c.uses)
		if back := follow(p, links); back.Root.Link != roottest.Link(t, g, c.want) {
			t.Errorf("%s: root is link %d, want %s", c.name, back.Root.Link, c.want)
		}
	}
}

// TestSlowPortLostMost: a port whose small load just ended is not the slow one.
func TestSlowPortLostMost(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, links := readings(t, g,
		map[string]float64{"leaf0>spine0": 70, "leaf1>spine0": 70},
		map[string]float64{"leaf0>spine0": 10, "leaf1>spine0": 10, "spine0>leaf3": 20, "spine0>leaf2": 0})
	p.Before = func(l schema.LinkID) float64 {
		if l == roottest.Link(t, g, "spine0>leaf2") {
			return 20
		}
		return 90
	}
	spine, _ := g.FindDevice("spine0")
	if got := (ports{p}).slowest(spine, links); got != roottest.Link(t, g, "spine0>leaf3") {
		t.Errorf("link %d is slow, want spine0>leaf3", got)
	}
}

// TestSlowPortCarriesTheSame: of ports that carry less, the one with a constant load sends all it can.
func TestSlowPortCarriesTheSame(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, links := readings(t, g,
		map[string]float64{"leaf0>spine0": 70, "leaf1>spine0": 70},
		map[string]float64{"leaf0>spine0": 10, "leaf1>spine0": 10, "spine0>leaf3": 25, "spine0>leaf2": 20})
	p.Before = func(schema.LinkID) float64 { return 90 }
	slow := roottest.Link(t, g, "spine0>leaf3")
	p.Flat = func(l schema.LinkID) bool { return l == slow }
	spine, _ := g.FindDevice("spine0")
	if got := (ports{p}).slowest(spine, links); got != slow {
		t.Errorf("link %d is slow, want spine0>leaf3", got)
	}
}

// TestRootBehindTwoGlobalLinks: a route with the fewest hops may cross a group of a dragonfly over two links between
// groups.
func TestRootBehindTwoGlobalLinks(t *testing.T) {
	g := roottest.Graph(t, "dragonfly:groups=9,routers=4,hosts=2")
	p, links := readings(t, g,
		map[string]float64{"router2-0>router3-3": 80, "router3-3>router1-0": 70, "router1-0>router1-3": 65},
		map[string]float64{"router2-0>router3-3": 20, "router3-3>router1-0": 30, "router1-0>router1-3": 35,
			"router1-3>host14": 100})
	p.Before = func(schema.LinkID) float64 { return -1 }
	if back := follow(p, links); back.Root.Link != roottest.Link(t, g, "router1-3>host14") || back.Root.Share < .99 {
		t.Errorf("%.2f of the stall leads to link %d, want all to router1-3>host14", back.Root.Share, back.Root.Link)
	}
}

// TestSlowPortToAHost: if a port to a host carries less than before while others wait for it, the host or its link is
// slow. Nothing waits for a port that no longer carries anything.
func TestSlowPortToAHost(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, links := readings(t, g, map[string]float64{"spine0>leaf0": 80, "spine1>leaf0": 80},
		map[string]float64{"spine0>leaf0": 20, "spine1>leaf0": 20, "leaf0>host0": 12, "leaf0>host1": 48,
			"leaf0>host2": 0})
	p.Before = func(schema.LinkID) float64 { return 50 }
	back := follow(p, links)
	if back.Root.Link != roottest.Link(t, g, "leaf0>host0") || back.Root.Kind != schema.RootSlowReceiver ||
		!back.Root.Slower {
		from, to := g.Ends(back.Root.Link)
		t.Errorf("root %s %s>%s, want a slow receiver at leaf0>host0", back.Root.Kind, g.Device(from).Name,
			g.Device(to).Name)
	}
	if !back.Root.Cannot {
		t.Error("it sends all that it can, of 12%, while an input stalls for 80% of the time")
	}
}

// TestTheOnlyWay: where no port carries anything, traffic waits for the only one that it can take, if there is only
// one.
func TestTheOnlyWay(t *testing.T) {
	for fabric, want := range map[string]string{"fattree:leaves=2,hosts=2,spines=1": "spine0>leaf1",
		"fattree:leaves=3,hosts=2,spines=1": ""} {
		g := roottest.Graph(t, fabric)
		p, links := readings(t, g, map[string]float64{"leaf0>spine0": 70}, map[string]float64{"leaf0>spine0": 1})
		spine, _ := g.FindDevice("spine0")
		port := schema.NoLink
		if want != "" {
			port = roottest.Link(t, g, want)
		}
		if got := (ports{p}).fullest(spine, links); got != port {
			t.Errorf("%s: the port is %d, want %d", fabric, got, port)
		}
	}
}
