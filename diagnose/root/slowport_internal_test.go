package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestPortThatCannotSendMore: a port is slow if inputs that wait for it stall longer than it sends, unless it is full.
func TestPortThatCannotSendMore(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _ := readings(t, g, map[string]float64{"leaf1>spine0": 60, "leaf2>spine0": 40, "leaf0>spine0": 2},
		map[string]float64{"leaf1>spine0": 4, "leaf2>spine0": 18, "spine0>leaf0": 22, "spine0>leaf3": 45})
	port := roottest.Link(t, g, "spine0>leaf0")
	p.Before = func(schema.LinkID) float64 { return 24 }
	can := func() bool { return p.canSend(port) >= ClearlyLess }
	if can() {
		t.Error("a port that carries 22% while inputs stall for half of the time can send more")
	}
	p.Use.Values[port] = 97
	if !can() {
		t.Error("a full port is not slow")
	}
}

// TestLoadedOrSlow: a port whose load is higher than ever before, by more than another one lost, is loaded.
func TestLoadedOrSlow(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _ := readings(t, g, map[string]float64{"spine0>leaf0": 30}, map[string]float64{"spine0>leaf0": 40, "leaf0>host0": 55, "leaf0>host1": 15})
	new, lost := roottest.Link(t, g, "leaf0>host0"), roottest.Link(t, g, "leaf0>host1")
	was := map[schema.LinkID]float64{lost: 29}
	p.Before = func(l schema.LinkID) float64 { return was[l] }
	if !p.loaded(new, lost) {
		t.Error("the port whose load is new is not what others wait for")
	}
	if was[new] = 50; p.loaded(new, lost) {
		t.Error("a port that carries what it always did is loaded")
	}
}

// TestStallPassesOn: if the stalled ports of a switch hold back as much as its inputs do, no traffic waits because of what these
// ports themselves send, however full they are.
func TestStallPassesOn(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, links := readings(t, g, map[string]float64{"leaf1>spine0": 60, "leaf2>spine0": 60, "spine0>leaf0": 60},
		map[string]float64{"leaf1>spine0": 48, "leaf2>spine0": 50, "spine0>leaf0": 99, "leaf0>host0": 98})
	p.Before = func(schema.LinkID) float64 { return 20 }
	if back := follow(p, links); back.Link != roottest.Link(t, g, "leaf0>host0") || back.share < .99 {
		t.Errorf("%.2f of the stall leads to link %d, want all to leaf0>host0", back.share, back.Link)
	}
}

// TestACableThatLostRateBothWays: of ports that carry less, the slow one is that whose cable also carries less in the other
// direction, without stall, even if another port lost more of its load.
func TestACableThatLostRateBothWays(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=5,hosts=4,spines=2")
	was := map[schema.LinkID]float64{}
	for name, use := range map[string]float64{"spine0>leaf0": 55, "leaf0>spine0": 75, "spine0>leaf3": 60, "leaf3>spine0": 30, "leaf1>spine0": 50, "leaf2>spine0": 50} {
		was[roottest.Link(t, g, name)] = use
	}
	for _, c := range []struct {
		name         string
		back, stalls float64 // use and stall of the other direction
		slow         string
	}{
		{"both ways", 41, 0, "spine0>leaf0"},
		{"one way", 75, 0, "spine0>leaf3"},
		{"held up itself", 41, 50, "spine0>leaf3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, links := readings(t, g, map[string]float64{"leaf1>spine0": 65, "leaf2>spine0": 68, "leaf0>spine0": c.stalls},
				map[string]float64{"leaf1>spine0": 34, "leaf2>spine0": 31, "spine0>leaf0": 41, "leaf0>spine0": c.back, "spine0>leaf3": 40, "leaf3>spine0": 30})
			p.Before = func(l schema.LinkID) float64 { return was[l] }
			spine, _ := g.Ends(roottest.Link(t, g, "spine0>leaf0"))
			if got, want := p.slowest(spine, links), roottest.Link(t, g, c.slow); got != want {
				t.Errorf("link %d is slow, want %s (%d)", got, c.slow, want)
			}
		})
	}
}
