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

// fromPod3 is the stall of a tree at leaf0-2 on the links behind the leaves of pod 3, its only sources; 0 elsewhere.
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

// A link that stalls far more than what it leads to, while nothing waits for it and no sibling stalls, is not part of
// the tree. It is part if all uplinks of its leaf stall as much, or if it stalls only a little more: it then shares
// the way on with others.
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

// Lone hot links beside a tree, from switches that its links enter, are not a region, however many.
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
