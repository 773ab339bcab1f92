package trees_test

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// fromPod3 is the part of a tree at leaf0-2 that lies behind the leaves of pod 3, its only sources; 0 for other links.
func fromPod3(from, to *topology.Device) float32 {
	switch {
	case to.Name == "leaf0-2" && from.Level == 2:
		return 60
	case to.Group == 0 && to.Level == 2 && from.Level == 3:
		return 45
	case from.Group == 3 && from.Level == 2 && to.Level == 3:
		return 30
	}
	return 0
}

// A link that stalls far more than what it leads to, while nothing waits for it nor stalls beside it, is no part of the tree; the
// same stall on all links up from its leaf is, and so is a little more on one: it shares the way on with others.
func TestLoneLinkIsNoPartOfATree(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=8")
	for _, c := range []struct {
		percent           float32
		isAlone, isMember bool
	}{{70, true, false}, {70, false, true}, {48, true, true}} {
		values, want := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
			switch percent := fromPod3(from, to); {
			case percent > 0:
				return percent, true
			case from.Group == 3 && from.Level == 1 && to.Level == 2 && from.Name != "leaf3-3":
				return 20, true
			case from.Name == "leaf3-3" && to.Level == 2 && (to.Name == "agg3-1" || !c.isAlone):
				return c.percent, c.isMember
			}
			return 0, false
		})
		got := segmenttest.Find(t, g, segment.DefaultConfig(), values.Noisy(.7, 1))
		if len(got) != 1 || !slices.Equal(got[0].Links, want) {
			t.Errorf("%+v: %s, want one of %d links", c, segmenttest.Sizes(got), len(want))
		}
	}
}

// Links beside a tree, from switches that its links enter, each hot alone, are no region, however many.
func TestLoneLinksBesideATreeAreNoRegion(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=8")
	values, want := stalls.Where(g, func(id schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
		switch percent := fromPod3(from, to); {
		case percent > 0:
			return percent, true
		case from.Group == 3 && from.Level == 1 && to.Level == 2:
			return 20, true
		case from.Group == 3 && from.Level == 0:
			return 15, true
		case from.Level == 3 && to.Group == int32(4+id%4):
			return 8 + float32(id%5), false
		}
		return 0, false
	})
	if got := segmenttest.Find(t, g, segment.DefaultConfig(), values.Noisy(.7, 1)); len(got) != 1 || !slices.Equal(got[0].Links, want) {
		t.Errorf("%s, want one of %d links", segmenttest.Sizes(got), len(want))
	}
}
