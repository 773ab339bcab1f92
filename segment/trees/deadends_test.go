package trees_test

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// Links from a switch of a tree to elsewhere, for which nothing there needs to wait, are lone hot links, however
// level. If the links behind them are unmeasured, the tree may go on there.
func TestDeadEndsAreNoPartOfATree(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=16,hosts=16,spines=8")
	for _, c := range []struct {
		name    string
		isBlind bool // the links out of the switches that they enter are unmeasured
	}{{"alone", false}, {"nothing behind them is measured", true}} {
		values, want := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
			switch {
			case from.Name == "leaf3" && to.Name == "host48":
				return 60, true
			case from.Name == "spine1" && to.Name == "leaf3":
				return 70, true
			case from.Name == "spine1" && (to.Name == "leaf9" || to.Name == "leaf10"):
				return 25, c.isBlind
			case from.Name == "leaf9" || from.Name == "leaf10":
				if c.isBlind {
					return linkset.Missing, false
				}
			case from.Level == 1 && from.Name != "leaf3" && to.Name == "spine1":
				return 55, true
			}
			return 0, false
		})
		got := segmenttest.Find(t, g, segment.DefaultConfig(), values.Noisy(.7, 1))
		if len(got) != 1 || !slices.Equal(got[0].Links, want) {
			t.Errorf("%s: %s, want one of %d links", c.name, segmenttest.Sizes(got), len(want))
		}
	}
}
