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

// A link that reads zero is of the region that it passes on what stalls of, if all beside it are; not if nothing waits for it, and
// not beside another one.
func TestFalseZeroIsOfItsRegion(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=16,hosts=8,spines=8")
	zero, another := stalls.LinkNamed(t, g, "spine3", "leaf5"), stalls.LinkNamed(t, g, "spine6", "leaf5")
	for _, c := range []struct {
		name    string
		isFed   bool
		isAlone bool
	}{{"fed", true, true}, {"nothing waits for it", false, true}, {"beside another", true, false}} {
		values, want := stalls.Where(g, func(id schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
			switch {
			case id == zero:
				return 0, c.isFed && c.isAlone
			case id == another && !c.isAlone:
				return 0, false
			case to.Name == "leaf5" && from.Level == 2:
				return 50, true
			case from.Level == 1 && from.Name < "leaf3" && to.Level == 2 && (c.isFed || to.Name != "spine3"):
				return 30, true
			}
			return 0, false
		})
		v := values.Noisy(.7, 1)
		v[zero] = 0
		if !c.isAlone {
			v[another] = 0
		}
		got := segmenttest.Find(t, g, segment.DefaultConfig(), v)
		if len(got) != 1 || !slices.Equal(got[0].Links, want) {
			t.Errorf("%s: %s, want one of %d links", c.name, segmenttest.Sizes(got), len(want))
		}
	}
}
