package segment

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
)

// A link that reads zero is of the region that it passes on what stalls of, if all beside it are; not if nothing waits for it.
func TestFalseZeroIsOfItsRegion(t *testing.T) {
	g := parse(t, "fattree:leaves=16,hosts=8,spines=8")
	zero := linkNamed(t, g, "spine3", "leaf5")
	for _, isFed := range []bool{true, false} {
		values := blank(g)
		var want []schema.LinkID
		for l := range values {
			id := schema.LinkID(l)
			a, b := g.Ends(id)
			from, to := g.Device(a), g.Device(b)
			switch {
			case id == zero:
				values[l] = 0
				if !isFed {
					continue
				}
			case to.Name == "leaf5" && from.Level == 2:
				values[l] = 50
			case from.Level == 1 && from.Name < "leaf3" && to.Level == 2 && (isFed || to.Name != "spine3"):
				values[l] = 30
			default:
				continue
			}
			want = append(want, id)
		}
		v := values.noisy(.7, 1)
		v[zero] = 0
		s := newSegmenter(t, g, DefaultConfig())
		got := s.Step(snapshotOf(map[schema.Metric][]float32{schema.XmitWait: v}))
		if len(got) != 1 || !slices.Equal(got[0].Links, want) {
			t.Errorf("fed %v: %s, want one of %d links", isFed, sizes(got), len(want))
		}
	}
}
