package diagnose

import (
	"testing"

	"github.com/giverny/giverny/schema"
)

// TestRootAmongFullPorts: where no port holds half of a region's stall, the root is where most is held back for a switch's own
// ports, and of its full uplinks the one that carried most before.
func TestRootAmongFullPorts(t *testing.T) {
	g := graphOf(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _, links := readings(t, g,
		map[string]float64{"host0>leaf0": 50, "host1>leaf0": 50, "host2>leaf0": 50, "host4>leaf1": 50, "host5>leaf1": 50,
			"leaf2>spine0": 40, "leaf3>spine0": 40},
		map[string]float64{"host0>leaf0": 50, "host1>leaf0": 50, "host2>leaf0": 50, "host4>leaf1": 45, "host5>leaf1": 45,
			"leaf0>spine0": 97, "leaf0>spine1": 98, "leaf1>spine0": 96, "leaf1>spine1": 40, "leaf2>spine0": 30, "leaf3>spine0": 30, "spine0>leaf1": 99})
	p.before = func(l schema.LinkID) float64 {
		if l == linkBetween(t, g, "leaf0>spine0") {
			return 30
		}
		return 10
	}
	rc := caseOf(p, links)
	p.spread(rc)
	back := p.rootOf(rc, backPressure{link: schema.NoLink, use: -1})
	if want := linkBetween(t, g, "leaf0>spine0"); back.link != want && back.leading != want {
		t.Errorf("root %d, leading %d, want %d", back.link, back.leading, want)
	}
}

// TestRootThatNothingWaitsFor: a root that the segmentation saw in a noisy reading is none where nothing that was followed waits.
func TestRootThatNothingWaitsFor(t *testing.T) {
	g := graphOf(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _, links := readings(t, g, map[string]float64{"host0>leaf0": 50, "host4>leaf1": 50, "host8>leaf2": 50},
		map[string]float64{"host0>leaf0": 50, "host4>leaf1": 50, "host8>leaf2": 50, "leaf0>spine0": 98, "leaf1>spine0": 98, "leaf2>spine0": 98, "leaf3>host15": 4})
	p.before = func(schema.LinkID) float64 { return 10 }
	rc := caseOf(p, links)
	rc.region.Root = &schema.Root{Link: linkBetween(t, g, "leaf3>host15")}
	p.spread(rc)
	if back := p.rootOf(rc, backPressure{link: schema.NoLink, use: -1}); back.link == rc.region.Root.Link || back.kind != "" {
		t.Errorf("root %q at link %d", back.kind, back.link)
	}
}
