package trees_test

import (
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// What waits at a switch without hosts belongs to the tree past the one way on from it that is not measured or reads zero, but not
// past a link that reads a little: that may be full.
func TestTreeGoesOnPastAReadingOfZero(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=16")
	gap := stalls.LinkNamed(t, g, "agg9-0", "core1") // the way of all that the pod sends to host520
	tree, _ := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (percent float32, _ bool) {
		switch {
		case from.Name == "leaf8-1" && to.Name == "host520", from.Name == "agg8-0" && to.Name == "leaf8-1":
			return 83, false
		case from.Name == "core1" && to.Name == "agg8-0", from.Level == 1 && to.Name == "agg8-0" && from.Name != "leaf8-1", from.Level == 0 && to.Name == "leaf8-1" && from.Name != "host520":
			return 78, false
		case from.Level == 1 && to.Name == "agg9-0", from.Level == 0 && to.Group == 9:
			return 76, false
		}
		return 0, false
	})
	for _, c := range []struct {
		reading float32
		regions int
	}{{76, 1}, {linkset.Missing, 1}, {0, 1}, {.5, 2}} {
		values := tree.Noisy(.7, 1)
		values[gap] = c.reading
		if got := segmenttest.Find(t, g, segmenttest.Overlapping(), values); len(got) != c.regions {
			t.Errorf("a reading of %v: %s, want %d regions", c.reading, segmenttest.Sizes(got), c.regions)
		}
	}
}
