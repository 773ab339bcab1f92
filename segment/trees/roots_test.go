package trees_test

import (
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// A receiver that takes nearly all that its port brings hardly stalls that, while those who push stall for most of the time: the
// port is the root where it is the only one there to stall. Of two, neither of which explains what waits, either may be.
func TestPortThatHardlyStallsIsTheRoot(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=8")
	for _, c := range []struct {
		second float32 // stall of another port of the leaf
		want   schema.LinkID
	}{
		{0, stalls.LinkNamed(t, g, "leaf0-2", "host8")},
		{7, schema.NoLink},
	} {
		values, _ := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (float32, bool) {
			switch {
			case from.Name == "leaf0-2" && to.Name == "host8":
				return 7, true
			case from.Name == "leaf0-2" && to.Name == "host9":
				return c.second, true
			case to.Name == "leaf0-2" && from.Level == 2:
				return 85, true
			case from.Level == 3 && to.Group == 0:
				return 60, true
			}
			return 0, false
		})
		got := segmenttest.Find(t, g, segment.DefaultConfig(), values.Noisy(.7, 1))
		if len(got) != 1 || got[0].Root == nil || got[0].Root.Device != "leaf0-2" || got[0].Root.Link != c.want {
			t.Errorf("a second port at %v%%: %+v, want one region with its root at leaf0-2, link %d", c.second, roots(got), c.want)
		}
	}
}

// A few links into a leaf that wait for its port are a region with that as its root, unless the port's host sends into the
// congestion itself: then it exchanges.
func TestFewLinksHaveTheirPortAsRoot(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=16,hosts=8,spines=8")
	for _, sends := range []bool{false, true} {
		values, _ := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (float32, bool) {
			switch {
			case from.Name == "leaf3" && to.Name == "host26", sends && from.Name == "host26":
				return 58, true
			case to.Name == "leaf3" && from.Level == 2 && from.Name < "spine5":
				return 85, true
			}
			return 0, false
		})
		got := segmenttest.Find(t, g, segment.DefaultConfig(), values.Noisy(.7, 1))
		if len(got) != 1 {
			t.Fatalf("sends %v: %s, want one region", sends, segmenttest.Sizes(got))
		}
		if isRoot := got[0].Root != nil && got[0].Root.Link == stalls.LinkNamed(t, g, "leaf3", "host26"); isRoot == sends {
			t.Errorf("sends %v: %+v", sends, roots(got))
		}
	}
}

func roots(regions []schema.Region) (all []schema.Root) {
	for _, r := range regions {
		if r.Root != nil {
			all = append(all, *r.Root)
		}
	}
	return all
}
