package scenario_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// scattered is a fabric as a discovery lists it: devices in no order, and the aggregation nodes of its switches among the hosts.
func scattered(t *testing.T, spec string) *topology.Graph {
	t.Helper()
	g := topologytest.Parse(t, "f", spec)
	var b strings.Builder
	b.WriteString("giverny_topology: 1\nfabric: f\nduplex: false\ndevices:\n")
	for _, d := range rand.New(rand.NewPCG(1, 2)).Perm(g.NumDevices()) {
		device, kind := g.Device(topology.DeviceID(d)), "host"
		if g.IsSwitch(topology.DeviceID(d)) {
			kind = "switch"
			fmt.Fprintf(&b, "- {name: \"Mellanox Technologies Aggregation Node %016x\", kind: host, level: 0}\n", d)
		}
		fmt.Fprintf(&b, "- {name: %q, kind: %s, level: %d}\n", device.Name, kind, device.Level)
	}
	b.WriteString("links:\n")
	for i := range g.NumLinks() {
		l := g.Link(schema.LinkID(i))
		fmt.Fprintf(&b, "- [%q, %q, %q, %q, %g, %s]\n", g.Device(l.From).Name, l.FromPort, g.Device(l.To).Name, l.ToPort, l.CapacityBytesPerSecond, l.Class)
	}
	for d := range topology.DeviceID(g.NumDevices()) {
		if g.IsSwitch(d) {
			name, node := g.Device(d).Name, fmt.Sprintf("Mellanox Technologies Aggregation Node %016x", d)
			fmt.Fprintf(&b, "- [%q, \"65\", %q, \"1\", 1.25e+10, host]\n- [%q, \"1\", %q, \"65\", 1.25e+10, host]\n", name, node, node, name)
		}
	}
	read, _, err := topology.ReadYAML(strings.NewReader(b.String()), "test", "f", nil)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// TestStoriesKeepTheirCause: on every fabric nothing stalls before what a story is about, and then it is the cause of what does.
func TestStoriesKeepTheirCause(t *testing.T) {
	for _, c := range []struct {
		story, fabric string // no fabric: an imported one
		at            int    // interval of the cause
		class         scenario.Class
	}{
		{"slowhost", "fattree:leaves=8,hosts=8,spines=2", 40, scenario.SlowHostCause},
		{"slowhost", "dragonfly:groups=5,routers=4,hosts=4", 40, scenario.SlowHostCause},
		{"slowhost", "dragonfly:groups=17,routers=8,hosts=4", 40, scenario.SlowHostCause},
		{"slowhost", "", 40, scenario.SlowHostCause},
		{"flap", "fattree:leaves=8,hosts=8,spines=2", 30, scenario.FailureCause},
		{"flap", "fattree:leaves=32,hosts=16,spines=8", 30, scenario.FailureCause},
		{"flap", "fattree:k=8", 30, scenario.FailureCause},
		{"flap", "dragonfly:groups=5,routers=4,hosts=4", 30, scenario.FailureCause},
		{"flap", "", 30, scenario.FailureCause},
		{"victim", "dragonfly:groups=5,routers=4,hosts=4", 30, scenario.SystemCause},
	} {
		story, err := scenario.Builtin(c.story)
		if err != nil {
			t.Fatal(err)
		}
		g := scattered(t, "fattree:leaves=8,hosts=8,spines=4")
		if c.fabric != "" {
			g = topologytest.Parse(t, "f", c.fabric)
		}
		if err := story.PlayOn(g, c.fabric); err != nil {
			t.Fatalf("%s on %s: %v", c.story, c.fabric, err)
		}
		r, err := scenario.New(g, story, 1, start)
		if err != nil {
			t.Fatalf("%s on %s: %v", c.story, c.fabric, err)
		}
		for i := range c.at + 1 {
			step, ok := r.Step()
			if !ok {
				t.Fatalf("%s on %s ends after %d intervals", c.story, c.fabric, i)
			}
			switch n := len(step.Truth.Links); {
			case i < c.at && n > 0:
				t.Fatalf("%s on %s: %d links stall in interval %d, before the cause: %+v", c.story, c.fabric, n, i, step.Truth.Causes[0])
			case i == c.at && (n < 10 || step.Truth.Causes[0].Class != c.class):
				t.Errorf("%s on %s: %d links stall, the causes are %+v, want %s", c.story, c.fabric, n, step.Truth.Causes, c.class)
			}
		}
	}
}
