package trees_test

import (
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// Exchanging leaves of a pod are one region even if no link out of one of them is measured. If that one waits at
// another level, nothing shows that it takes part.
func TestExchangeWithALeafThatReportsNothing(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=12")
	for _, c := range []struct {
		name    string
		level   float32 // of the links into that leaf
		regions int
	}{{"level", 18, 1}, {"another level", 40, 3}} {
		values, _ := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
			isOf := func(name string) bool { return name == "leaf7-0" || name == "leaf7-2" || name == "leaf7-4" }
			switch {
			case from.Name == "leaf7-2":
				return linkset.Missing, false
			case from.Level == 2 && to.Name == "leaf7-2":
				return c.level, true
			case from.Level == 2 && isOf(to.Name), to.Level == 2 && isOf(from.Name):
				return 18, true
			}
			return 0, false
		})
		if got := segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(.7, 1)); len(got) != c.regions {
			t.Errorf("%s: %s, want %d regions", c.name, segmenttest.Sizes(got), c.regions)
		}
	}
}
