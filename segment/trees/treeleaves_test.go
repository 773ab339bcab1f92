package trees_test

import (
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// A tree whose root is at a leaf of a level exchange is a region of its own, though only one way into that leaf carries
// its traffic; also in an exchange of more leaves than a mask distinguishes.
func TestTreeAtALeafOfAnExchange(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=16")
	for _, pods := range []int32{3, 16} {
		ways := map[[2]string]float32{
			{"leaf1-0", "host64"}: 80, {"agg1-2", "leaf1-0"}: 90, {"core16", "agg1-2"}: 88,
			{"agg2-2", "core16"}: 85, {"agg0-2", "core16"}: 85,
			{"leaf2-1", "agg2-2"}: 82, {"leaf2-3", "agg2-2"}: 82, {"leaf0-1", "agg0-2"}: 82,
			{"host136", "leaf2-1"}: 81, {"host152", "leaf2-3"}: 81, {"host8", "leaf0-1"}: 81,
		}
		values, _ := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (float32, bool) {
			if tree, ok := ways[[2]string{from.Name, to.Name}]; ok {
				return tree, false
			}
			group := max(from.Group, to.Group)
			if to.Kind == topology.Host || group >= pods {
				return 0, false
			}
			return 20, false
		})
		root := stalls.LinkNamed(t, g, "leaf1-0", "host64")
		got := segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(.4, 1))
		roots := 0
		for _, r := range got {
			if r.Root != nil && r.Root.Link == root {
				roots++
				if n := len(r.Links); n < 8 || n > 16 {
					t.Errorf("exchange of %d pods: the tree has %d links, want about 11", pods, n)
				}
			}
		}
		if len(got) != 2 || roots != 1 {
			t.Errorf("exchange of %d pods: %s, %d with the tree's root, want two, one of them", pods, segmenttest.Sizes(got), roots)
		}
	}
}
