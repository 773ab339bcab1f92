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

// Leaves without a visible root are one exchange if all that waits for them comes from these leaves, though each
// receives at a rate of its own; and two trees if it comes from others.
func TestClosedExchange(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=32,hosts=16,spines=16")
	levels := map[string]float32{"leaf3": 60, "leaf9": 42, "leaf20": 30}
	for _, c := range []struct {
		name    string
		sending map[string]bool
		regions int
	}{
		{"each sends", map[string]bool{"leaf3": true, "leaf9": true, "leaf20": true}, 1},
		{"others send", map[string]bool{"leaf1": true, "leaf2": true, "leaf4": true}, 3},
	} {
		values, _ := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
			switch {
			case from.Level == 2:
				return levels[to.Name], true
			case to.Level == 2 && c.sending[from.Name]:
				return 20, true
			}
			return 0, false
		})
		if got := segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(.7, 1)); len(got) != c.regions {
			t.Errorf("%s: %s, want %d regions", c.name, segmenttest.Sizes(got), c.regions)
		}
	}
}
