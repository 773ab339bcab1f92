package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestWhoCannotBePlacedOtherwise: a job on all leaf switches, or on one, is not advised to be placed in a block.
func TestWhoCannotBePlacedOtherwise(t *testing.T) {
	g, err := topology.Parse("ib0", "fattree:leaves=4,hosts=4,spines=2")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	hosts := g.Hosts()
	for name, c := range map[string]struct {
		devices []topology.DeviceID
		want    bool
	}{
		"all":            {hosts, false},
		"all but three":  {hosts[:13], false},
		"one leaf":       {hosts[4:8], false},
		"all but a leaf": {append([]topology.DeviceID{hosts[15]}, hosts[:11]...), true},
		"two leaves":     {[]topology.DeviceID{hosts[0], hosts[15]}, true},
	} {
		if got := s.isScattered(&job{Job: &history.Job{Devices: c.devices}}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestASilentRoot: only a root that reports nothing is said to be silent.
func TestASilentRoot(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=2,spines=1")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	rc := &regionCase{in: &s.interval, region: &schema.Region{Root: &schema.Root{Device: "leaf0"}}}
	if u := rc.unknown(); u.Silent != "" {
		t.Errorf("a root that is read is silent: %+v", u)
	}
}
