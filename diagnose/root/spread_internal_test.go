package root

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/diagnose/routes"
)

// TestStallIsDividedBetweenPorts: traffic held back at an input waits for every port that it may take, including the
// full ones.
func TestStallIsDividedBetweenPorts(t *testing.T) {
	for _, c := range []struct {
		name, fabric string
		stalls, uses map[string]float64
		want         map[string]float64 // share of the region's stall by port
	}{
		{"a full uplink beside one behind which another is full", "fattree:leaves=4,hosts=4,spines=2",
			map[string]float64{"host4>leaf1": 50, "host5>leaf1": 50, "leaf1>spine0": 50},
			map[string]float64{"host4>leaf1": 50, "host5>leaf1": 50, "leaf1>spine0": 50, "spine0>leaf0": 100,
				"leaf1>spine1": 100},
			map[string]float64{"spine0>leaf0": 2. / 3, "leaf1>spine1": 1. / 3}},
		{"a port that sends all the time and waits holds back more than its reading says",
			"fattree:leaves=4,hosts=4,spines=2",
			map[string]float64{"host4>leaf1": 60, "leaf1>spine0": 25, "leaf1>spine1": 30},
			map[string]float64{"host4>leaf1": 40, "leaf1>spine0": 75, "spine0>leaf0": 100, "leaf1>spine1": 30,
				"spine1>leaf2": 100},
			map[string]float64{"spine0>leaf0": .6, "spine1>leaf2": .4}},
		{"a full port that stalls now and then, with room behind it, is the end", "fattree:leaves=4,hosts=4,spines=2",
			map[string]float64{"leaf1>spine0": 50, "leaf2>spine0": 50, "spine0>leaf0": 9},
			map[string]float64{"leaf1>spine0": 45, "leaf2>spine0": 45, "spine0>leaf0": 93, "leaf0>host0": 50,
				"leaf0>host1": 50},
			map[string]float64{"spine0>leaf0": 1}},
		{"with a fuller port behind it, what waits for it does for as long as it sends",
			"fattree:leaves=4,hosts=4,spines=2",
			map[string]float64{"leaf1>spine0": 50, "leaf2>spine0": 50, "spine0>leaf0": 8},
			map[string]float64{"leaf1>spine0": 45, "leaf2>spine0": 45, "spine0>leaf0": 92, "leaf0>host0": 100,
				"leaf0>host1": 50},
			map[string]float64{"spine0>leaf0": .92 / 1.08, "leaf0>host0": .16 / 1.08}},
		{"unless stall is also counted while links send", "fattree:leaves=4,hosts=4,spines=2",
			map[string]float64{"leaf1>spine0": 50, "leaf2>spine0": 50, "spine0>leaf0": 20},
			map[string]float64{"leaf1>spine0": 65, "leaf2>spine0": 65, "spine0>leaf0": 92, "leaf0>host0": 100,
				"leaf0>host1": 50},
			map[string]float64{"leaf0>host0": 1}},
		{"or for a port that stalls as long as a few links of a region in which most count so",
			"fattree:leaves=4,hosts=4,spines=2",
			map[string]float64{"leaf1>spine0": 50, "leaf2>spine0": 50, "spine0>leaf0": 8},
			map[string]float64{"leaf1>spine0": 65, "leaf2>spine0": 65, "spine0>leaf0": 92, "leaf0>host0": 100,
				"leaf0>host1": 50},
			map[string]float64{"leaf0>host0": 1}},
		{"a busy port that stalls far less than what waits for it is the end, though nothing is full",
			"fattree:leaves=4,hosts=4,spines=2",
			map[string]float64{"leaf1>spine0": 60, "leaf2>spine0": 60, "spine0>leaf0": 8},
			map[string]float64{"leaf1>spine0": 30, "leaf2>spine0": 30, "spine0>leaf0": 80, "spine0>leaf3": 55, "leaf0>host0": 45,
				"leaf0>host1": 35},
			map[string]float64{"spine0>leaf0": .8, "spine0>leaf3": .15}},
		{"but not if a port behind it is busier", "fattree:leaves=4,hosts=4,spines=2",
			map[string]float64{"leaf1>spine0": 60, "leaf2>spine0": 60, "spine0>leaf0": 8},
			map[string]float64{"leaf1>spine0": 30, "leaf2>spine0": 30, "spine0>leaf0": 75, "leaf0>host0": 84},
			map[string]float64{"spine0>leaf0": 0}},
		{"a port that has all its traffic from inputs that stall as often holds back no input that stalls far less",
			"fattree:leaves=4,hosts=4,spines=2",
			map[string]float64{"leaf1>spine0": 90, "leaf2>spine0": 35, "leaf3>spine0": 35, "spine0>leaf0": 80},
			map[string]float64{"leaf1>spine0": 16, "leaf2>spine0": 65, "leaf3>spine0": 65, "spine0>leaf0": 16,
				"leaf0>host0": 98, "spine0>leaf1": 70},
			map[string]float64{"leaf0>host0": 170. / 240}},
		{"from within a group of a dragonfly nothing goes on within it", "dragonfly:groups=9,routers=4,hosts=2",
			map[string]float64{"router0-1>router0-0": 60},
			map[string]float64{"router0-1>router0-0": 40, "router0-0>router0-2": 100, "router0-0>router1-3": 100},
			map[string]float64{"router0-0>router1-3": 1}},
		{"and from another group only within it", "dragonfly:groups=9,routers=4,hosts=2",
			map[string]float64{"router1-3>router0-0": 60},
			map[string]float64{"router1-3>router0-0": 40, "router0-0>router0-2": 100, "router0-0>router2-3": 100},
			map[string]float64{"router0-0>router0-2": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := roottest.Graph(t, c.fabric)
			p, links := readings(t, g, c.stalls, c.uses)
			weight, all := weightOf(p, links)
			w := walkOf(p)
			w.spread(links, weight)
			for name, want := range c.want {
				if got := w.toPort[roottest.Link(t, g, name)] / all; math.Abs(got-want) > .1 {
					t.Errorf("%s holds back %.2f of the region, want %.2f", name, got, want)
				}
			}
			ends, total := w.switches()
			if math.Abs(total-all) > 1e-6*all {
				t.Errorf("%.3f of %.3f are found again", total, all)
			}
			if len(ends) == 0 {
				t.Error("nothing ends anywhere")
			}
		})
	}
}

// TestStallOnAGridEndsAtTheFullLink: of the two directions of each link, only one leads to the full link.
func TestStallOnAGridEndsAtTheFullLink(t *testing.T) {
	g := roottest.Graph(t, "torus:8x8x8")
	p, links := readings(t, g,
		map[string]float64{"1,2,3>2,2,3": 40, "2,2,3>2,3,3": 40, "2,3,3>2,4,3": 40},
		map[string]float64{"1,2,3>2,2,3": 30, "2,2,3>2,3,3": 50, "2,3,3>2,4,3": 60, "2,4,3>2,5,3": 100,
			"5,5,5>5,6,5": 100})
	w := walkOnGrid(NewFinder(g, routes.NewRouter(g).Grid), p)
	w.spreadOnGrid(links)
	full := roottest.Link(t, g, "2,4,3>2,5,3")
	if len(w.known) != 1 || w.known[0] != full || math.Abs(w.toPort[full]-120) > 1e-6 {
		t.Errorf("stall is followed to %v, %v, want all to link %d", w.known, w.toPort[full], full)
	}
}
