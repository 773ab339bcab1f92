package trees_test

import (
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// What waits for a full uplink is a region of its own if the uplink leads to a tree and stalls less than that does and
// than what waits for it; if stall rises all the way from the tree's root, it is one tree.
func TestSaddlePartsTrees(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=8")
	for _, c := range []struct {
		name                       string
		trunk, uplink, into, hosts float32 // of the tree, and of the full uplink and what waits for it
		want                       int
	}{
		{"a saddle", 48, 25, 40, 35, 2},
		{"what waits for the uplink stalls far more", 48, 25, 58, 50, 2},
		{"stall falls upstream", 48, 40, 35, 30, 1},
		{"stall rises upstream", 25, 30, 40, 45, 1},
	} {
		values, _ := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
			switch {
			case from.Level == 2 && to.Name == "leaf0-2":
				return c.trunk, true
			case from.Name == "core4" && to.Name == "agg0-1", from.Name == "agg1-1" && to.Name == "core4":
				return c.uplink, true
			case from.Level == 1 && to.Name == "agg1-1":
				return c.into, true
			case from.Level == 0 && strings.HasPrefix(to.Name, "leaf1-"):
				return c.hosts, true
			case from.Name == "leaf0-3" && to.Level == 2, from.Level == 0 && to.Name == "leaf0-3": // hosts that send into the tree
				return c.trunk, true
			}
			return 0, false
		})
		if got := segmenttest.Find(t, g, segment.DefaultConfig(), values.Noisy(.7, 1)); len(got) != c.want {
			t.Errorf("%s: regions of %s links, want %d", c.name, segmenttest.Sizes(got), c.want)
		}
	}
}
