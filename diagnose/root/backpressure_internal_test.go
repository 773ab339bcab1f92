package root

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology/topologytest"
)

// TestOneAnswer: which of the answers to where back pressure begins are known, by what is measured.
func TestOneAnswer(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	for _, c := range []struct {
		name          string
		stalls, uses  map[string]float64 // no uses: no load is measured
		root, leading string
		atSwitch      string // kind there, if most ends there
		mostAtSwitch  bool
	}{
		{name: "a full port", stalls: map[string]float64{"host1>leaf0": 60, "host2>leaf0": 60},
			uses: map[string]float64{"host1>leaf0": 40, "host2>leaf0": 40, "leaf0>host0": 99}, root: "leaf0>host0"},
		{name: "no load anywhere, measured", stalls: map[string]float64{"host0>leaf0": 60, "host1>leaf0": 60},
			uses: map[string]float64{"spine0>leaf3": 1}, mostAtSwitch: true},
		{name: "little waits for a full port",
			stalls: map[string]float64{"host0>leaf0": 60, "host1>leaf0": 60, "host4>leaf1": 10},
			uses:   map[string]float64{"leaf1>host5": 99}, mostAtSwitch: true},
		{name: "a part waits for a full port",
			stalls: map[string]float64{"host0>leaf0": 60, "host1>leaf0": 60, "host4>leaf1": 50},
			uses:   map[string]float64{"leaf1>host5": 99}, leading: "leaf1>host5", mostAtSwitch: true},
		{name: "no load is measured", stalls: map[string]float64{"host0>leaf0": 60, "host1>leaf0": 60},
			atSwitch: schema.RootLinkCapacity, mostAtSwitch: true},
		{name: "no load is measured, and a little waits for a host",
			stalls: map[string]float64{"host0>leaf0": 60,
				"leaf0>host0": 20}, atSwitch: schema.RootLinkCapacity, mostAtSwitch: true},
	} {
		p, links := readings(t, g, c.stalls, c.uses)
		if c.uses == nil {
			p.Use, p.Rate = nil, nil
		}
		b := follow(p, links)
		name := func(port *Port) string {
			if port.Kind == "" {
				return ""
			}
			from, to := g.Ends(port.Link)
			return g.Device(from).Name + ">" + g.Device(to).Name
		}
		if root, leading := name(&b.Root), name(&b.Leading); root != c.root || leading != c.leading ||
			b.Switch.Kind != c.atSwitch || b.Switch.HasMost() != c.mostAtSwitch {
			t.Errorf("%s: root %q, leading port %q, at a switch %+v", c.name, root, leading, b.Switch)
		}
	}
}

// TestAllPortsOfAHost: of a host that pauses its ports on several switches, each has a small part of what waits; together
// they are the root.
func TestAllPortsOfAHost(t *testing.T) {
	g := topologytest.Rails(t, 2, 6, 4, false)
	stalls, uses := map[string]float64{"leaf0-1>host1-5": 30}, map[string]float64{"leaf0-1>host1-5": 60}
	for rail := range 4 {
		port := fmt.Sprintf("leaf%d-1>host1-2", rail)
		stalls[port], uses[port] = 50+float64(rail), 7
	}
	p, links := readings(t, g, stalls, uses)
	b := follow(p, links)
	if want := roottest.Link(t, g, "leaf3-1>host1-2"); b.Root.Link != want || b.Root.Kind != schema.RootSlowReceiver || b.Root.Share < .8 {
		t.Errorf("root %+v, want link %d", b.Root, want)
	}
}
