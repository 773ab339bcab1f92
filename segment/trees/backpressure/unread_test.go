package backpressure_test

import (
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// If a tree's only way on has no value, or reads zero, its root is the port beyond; not if two links may be that way.
func TestRootBeyondAnUnreadLink(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=16,hosts=8,spines=8")
	unread := stalls.LinkNamed(t, g, "spine3", "leaf5")
	another := stalls.LinkNamed(t, g, "spine3", "leaf9")
	for _, c := range []struct {
		name  string
		reads float32
		ports map[string]bool // hosts whose ports stall
		root  string
	}{
		{"read", 50, map[string]bool{"host40": true}, "leaf5"},
		{"missing", linkset.Missing, map[string]bool{"host40": true}, "leaf5"},
		{"false zero", 0, map[string]bool{"host40": true}, "leaf5"},
		{"two ways", 0, map[string]bool{"host40": true, "host72": true}, "spine3"},
	} {
		values, _ := stalls.Where(g, func(id schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
			switch {
			case c.ports[to.Name]:
				return 60, true
			case from.Level == 0 && (to.Name == "leaf0" || to.Name == "leaf1"):
				return 35, true
			case (from.Name == "leaf0" || from.Name == "leaf1") && to.Name == "spine3":
				return 40, true
			}
			return 2, false // so that noise makes no zeros
		})
		v := values.Noisy(.4, 1)
		v[unread] = c.reads
		if len(c.ports) > 1 {
			v[another] = c.reads
		}
		got := segmenttest.Find(t, g, segment.DefaultConfig(), v)
		if len(got) != 1 || got[0].Root == nil || got[0].Root.Device != c.root {
			t.Errorf("%s: %s, want one from %s", c.name, segmenttest.Sizes(got), c.root)
		}
	}
}

// A link within a dragonfly's group that reads zero, though what waits at its router can wait for nothing else, belongs to the tree that
// most links into the same router wait for.
func TestFalseZeroWithinAGroup(t *testing.T) {
	g := stalls.Fabric(t, stalls.SeventeenGroups)
	values, wanted := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
		switch {
		case from.Name == "router0-0" && to.Name == "host0":
			return 22, true
		case to.Name == "router0-0" && to.Group == from.Group && from.Kind == topology.Switch:
			return 14, true
		case from.Kind == topology.Host && from.Group == 0 && to.Name != "router0-0":
			return 12, true
		}
		return 1, false // so that noise makes no zeros
	})
	noisy := values.Noisy(.4, 1)
	for _, from := range []string{"router0-2", "router0-3"} {
		noisy[stalls.LinkNamed(t, g, from, "router0-0")] = 0
		got := segmenttest.Find(t, g, segmenttest.Overlapping(), noisy)
		if len(got) != 1 || len(got[0].Links) < len(wanted)-2 || got[0].Root == nil || got[0].Root.Device != "router0-0" {
			t.Errorf("without %s: %s, want one of about %d links from router0-0", from, segmenttest.Sizes(got), len(wanted))
		}
	}
}

// A cable between groups of a dragonfly that reads zero, though several links wait to enter it, belongs to the tree for which most
// cables into the same group wait; where few do, nothing shows that.
func TestFalseZeroBetweenGroups(t *testing.T) {
	g := stalls.Fabric(t, stalls.SeventeenGroups)
	for _, c := range []struct {
		groups  int32
		regions int
	}{{16, 1}, {5, 2}} {
		values, _ := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
			isTree := from.Group >= 1 && from.Group <= c.groups
			switch {
			case from.Name == "router0-0" && to.Name == "host0":
				return 60, true
			case to.Name == "router0-0" && from.Kind == topology.Switch:
				return 50, true
			case to.Group == 0 && isTree && from.Kind == topology.Switch:
				return 40, true
			case from.Group == 1 && to.Group == 1 && leadsTo(g, to, 0):
				return 30, true
			}
			return 2, false // so that noise makes no zeros
		})
		noisy := values.Noisy(.4, 1)
		for l := range schema.LinkID(g.NumLinks()) {
			if from, to := g.Ends(l); g.Device(from).Group == 1 && g.Device(to).Group == 0 {
				noisy[l] = 0
			}
		}
		if got := segmenttest.Find(t, g, segmenttest.Overlapping(), noisy); len(got) != c.regions {
			t.Errorf("%d groups: %s, want %d", c.groups, segmenttest.Sizes(got), c.regions)
		}
	}
}

// leadsTo reports whether a switch has a cable to a group.
func leadsTo(g *topology.Graph, from *topology.Device, group int32) bool {
	for l := range schema.LinkID(g.NumLinks()) {
		if a, b := g.Ends(l); g.Device(a).Name == from.Name && g.Device(b).Group == group {
			return true
		}
	}
	return false
}
