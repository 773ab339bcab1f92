package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestRootAmongFullPorts: if no port has half of a region's stall, the root is at the switch where most of it ends,
// and of its full uplinks it is the one with the highest load before.
func TestRootAmongFullPorts(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, links := readings(t, g,
		map[string]float64{"host0>leaf0": 50, "host1>leaf0": 50, "host2>leaf0": 50, "host4>leaf1": 50, "host5>leaf1": 50,
			"leaf2>spine0": 40, "leaf3>spine0": 40},
		map[string]float64{"host0>leaf0": 50, "host1>leaf0": 50, "host2>leaf0": 50, "host4>leaf1": 45, "host5>leaf1": 45,
			"leaf0>spine0": 97, "leaf0>spine1": 98, "leaf1>spine0": 96, "leaf1>spine1": 40, "leaf2>spine0": 30, "leaf3>spine0": 30, "spine0>leaf1": 99})
	p.Before = func(l schema.LinkID) float64 {
		if l == roottest.Link(t, g, "leaf0>spine0") {
			return 30
		}
		return 10
	}
	back := follow(p, links)
	if want := roottest.Link(t, g, "leaf0>spine0"); back.Root.Link != want && back.Leading.Link != want {
		t.Errorf("root %d, leading %d, want %d", back.Root.Link, back.Leading.Link, want)
	}
}

// TestRootThatNothingWaitsFor: a root that the segmentation saw in a noisy reading is dropped if no stall was followed to it.
func TestRootThatNothingWaitsFor(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, links := readings(t, g, map[string]float64{"host0>leaf0": 50, "host4>leaf1": 50, "host8>leaf2": 50},
		map[string]float64{"host0>leaf0": 50, "host4>leaf1": 50, "host8>leaf2": 50, "leaf0>spine0": 98, "leaf1>spine0": 98, "leaf2>spine0": 98, "leaf3>host15": 80})
	p.Before = func(schema.LinkID) float64 { return 10 }
	weight, _ := weightOf(p, links)
	seen := &schema.Root{Link: roottest.Link(t, g, "leaf3>host15")}
	if back := NewFinder(g, nil).Follow(p, &schema.Region{Metric: schema.CreditStall, Links: links, Root: seen}, weight); back.Root.Link == seen.Link || back.HasRoot() {
		t.Errorf("root %q at link %d", back.Root.Kind, back.Root.Link)
	}
}
