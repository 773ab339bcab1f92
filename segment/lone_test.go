package segment

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
)

// A link that stalls more than what it leads to, while nothing waits for it nor stalls beside it, is no part of the tree; the
// same stall on all links up from its leaf is.
func TestLoneLinkIsNoPartOfATree(t *testing.T) {
	g := parse(t, "fattree:k=8")
	for _, isAlone := range []bool{true, false} {
		values := blank(g)
		var want []schema.LinkID
		for l := range values {
			id := schema.LinkID(l)
			a, b := g.Ends(id)
			from, to := g.Device(a), g.Device(b)
			switch {
			case to.Name == "leaf0-2" && from.Level == 2:
				values[l] = 60
			case to.Group == 0 && to.Level == 2 && from.Level == 3:
				values[l] = 45
			case from.Group == 3 && from.Level == 2 && to.Level == 3:
				values[l] = 30
			case from.Group == 3 && from.Level == 1 && to.Level == 2 && from.Name != "leaf3-3":
				values[l] = 20
			case from.Name == "leaf3-3" && to.Level == 2 && (to.Name == "agg3-1" || !isAlone):
				values[l] = 70
				if isAlone {
					continue
				}
			default:
				continue
			}
			want = append(want, id)
		}
		s := newSegmenter(t, g, DefaultConfig())
		got := s.Step(snapshotOf(map[schema.Metric][]float32{schema.XmitWait: values.noisy(.7, 1)}))
		if len(got) != 1 || !slices.Equal(got[0].Links, want) {
			t.Errorf("alone %v: %s, want one of %d links", isAlone, sizes(got), len(want))
		}
	}
}
