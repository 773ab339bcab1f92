package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestRootByStallAlone: without load readings no port is seen to be full, but the switch is known at which the stall
// ends: links stall into it, and none of its ports does. Links that carry other traffic, too, stall less than those
// before them.
func TestRootByStallAlone(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	for _, c := range []struct {
		name, at, kind string
		stalls         map[string]float64
	}{
		{"too much arrives for a host", "leaf3", schema.RootIncast,
			map[string]float64{"host0>leaf0": 60, "leaf0>spine0": 40, "leaf1>spine1": 40, "spine0>leaf3": 50,
				"spine1>leaf3": 50}},
		{"a slow link up", "leaf0", schema.RootLinkCapacity, map[string]float64{"host0>leaf0": 60, "host1>leaf0": 40}},
		{"a slow link down", "spine0", schema.RootLinkCapacity,
			map[string]float64{"host0>leaf0": 60, "leaf0>spine0": 10, "leaf1>spine0": 60}},
	} {
		p, links := readings(t, g, c.stalls, nil)
		p.Use, p.Rate = nil, nil
		back := follow(p, links)
		if at := g.Device(back.Switch.Device).Name; back.Root.Kind != "" || at != c.at || back.Switch.Kind != c.kind {
			t.Errorf("%s: root %q at %s, want %q at %s", c.name, back.Root.Kind+back.Switch.Kind, at, c.kind, c.at)
		}
	}
}

// TestAPortWithOtherTrafficStallsLess: the back pressure of a link is followed over a port that stalls far less, if no
// other does.
func TestAPortWithOtherTrafficStallsLess(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, links := readings(t, g, map[string]float64{"host0>leaf0": 60, "host1>leaf0": 60, "leaf0>spine0": 15},
		map[string]float64{"host0>leaf0": 10, "host1>leaf0": 10, "leaf0>spine0": 50, "spine0>leaf3": 98,
			"leaf0>host2": 60})
	if back := follow(p, links); back.Root.Link != roottest.Link(t, g, "spine0>leaf3") {
		t.Errorf("root is link %d, want spine0>leaf3", back.Root.Link)
	}
}
