package trees_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// withAggregationNodes is a leaf-spine whose switches each have an aggregation node, as with SHARP.
func withAggregationNodes(t *testing.T, leaves, hosts, spines int) *topology.Graph {
	t.Helper()
	b := topology.NewBuilder("sharp")
	device := func(kind topology.DeviceKind, level int8, name string, n ...any) topology.DeviceID {
		name = fmt.Sprintf(name, n...)
		return b.Device(topology.Device{Name: name, Label: name, Kind: kind, Level: level, Group: -1})
	}
	cable := func(a topology.DeviceID, p int, z topology.DeviceID, q int, class topology.LinkClass) {
		b.Both(topology.Link{From: a, FromPort: fmt.Sprint(p), To: z, ToPort: fmt.Sprint(q), CapacityBytesPerSecond: 25e9, Class: class, Dim: -1})
	}
	var above []topology.DeviceID
	for s := range spines {
		above = append(above, device(topology.Switch, 2, "spine%d", s))
		cable(device(topology.Host, 0, "Mellanox Technologies Aggregation Node %d", s), 1, above[s], leaves+1, topology.ClassHost)
	}
	for l := range leaves {
		leaf := device(topology.Switch, 1, "leaf%d", l)
		for h := range hosts {
			cable(device(topology.Host, 0, "host%d-%d", l, h), 1, leaf, spines+h+1, topology.ClassHost)
		}
		cable(device(topology.Host, 0, "Mellanox Technologies Aggregation Node %d", spines+l), 1, leaf, spines+hosts+1, topology.ClassHost)
		for s, spine := range above {
			cable(leaf, s+1, spine, l+1, topology.ClassSwitch)
		}
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// An exchange that fills the uplinks of many leaves is one region, not one at each spine's idle aggregation node.
func TestFullUplinksDoNotWaitForAggregationNodes(t *testing.T) {
	g := withAggregationNodes(t, 12, 8, 4)
	values, want := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (float32, bool) {
		isIn := to.Level == 1 && from.Name[:4] == "host" || from.Level == 1 && to.Level == 2
		if isIn {
			return 30, true
		}
		return 0, false
	})
	if got := segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(2, 1)); len(got) != 1 || !slices.Equal(got[0].Links, want) {
		t.Errorf("%s, want one of %d links", segmenttest.Sizes(got), len(want))
	}
}

// Traffic into a spine goes on to a leaf over a port that is full but not stalled: the calm port to the spine's
// aggregation node is not the root.
func TestCalmAggregationNodeIsNoRoot(t *testing.T) {
	g := withAggregationNodes(t, 12, 8, 4)
	values, want := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (float32, bool) {
		if from.Level == 1 && to.Name == "spine2" {
			return 40, true
		}
		return 0, false
	})
	got := segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(1, 1))
	if len(got) != 1 || !slices.Equal(got[0].Links, want) || got[0].Root == nil || got[0].Root.Device != "spine2" || got[0].Root.Link != schema.NoLink {
		t.Errorf("%s, want one of %d links with its root at spine2, port open", segmenttest.ToJSON(t, got), len(want))
	}
}

// A hot port to an aggregation node takes nothing from a tree at the same leaf: all that may wait for it may also wait for
// the tree's root.
func TestHotAggregationNodeIsNoRoot(t *testing.T) {
	g := withAggregationNodes(t, 12, 8, 4)
	values, want := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (float32, bool) {
		switch {
		case from.Name == "leaf0" && to.Name == "host0-0":
			return 50, true
		case from.Level == 2 && to.Name == "leaf0":
			return 40, true
		case from.Level == 1 && to.Level == 2 && from.Name != "leaf0":
			return 32, true
		case from.Name == "leaf0" && to.Level == 0 && to.Name[:4] != "host":
			return 53, false
		}
		return 0, false
	})
	got := segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(1, 1))
	if len(got) != 1 || !slices.Equal(got[0].Links, want) || got[0].Root == nil || got[0].Root.Device != "leaf0" {
		t.Errorf("%s, want one of %d links with its root at leaf0", segmenttest.ToJSON(t, got), len(want))
	}
}
