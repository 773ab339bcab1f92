package trees

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
)

// Two links in pod 3 are dropped from a region in pod 0 if all links between are calm. They are kept if those stall
// halfway or are unmeasured, if a host's link is beside them, or if no piece is larger.
func TestSmallPiecesThatHangTogetherWithNothing(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=8")
	tree := stalls.ByEnds{{"agg0-0", "leaf0-0"}: 40, {"agg0-1", "leaf0-0"}: 40, {"agg0-2", "leaf0-0"}: 40, {"agg0-3", "leaf0-0"}: 40,
		{"leaf0-1", "agg0-0"}: 20, {"leaf0-2", "agg0-0"}: 20, {"leaf0-3", "agg0-0"}: 20}
	aside := stalls.ByEnds{{"leaf3-0", "agg3-0"}: 8, {"leaf3-1", "agg3-0"}: 8}
	between := func(percent float32) stalls.ByEnds {
		return stalls.ByEnds{{"agg3-0", "core0"}: percent, {"core0", "agg0-0"}: percent}
	}
	for _, c := range []struct {
		name    string
		region  stalls.ByEnds
		others  stalls.ByEnds
		isWhole bool
		least   int // links of a region
	}{
		{"calm between", tree.With(aside), nil, false, len(tree)},
		{"calm between, and too few would be left", tree.With(aside), nil, true, len(tree) + 1},
		{"stalls between", tree.With(aside), between(3), true, 1},
		{"not measured between", tree.With(aside), between(linkset.Missing), true, 1},
		{"a host's", tree.With(aside).With(stalls.ByEnds{{"host48", "leaf3-0"}: 9}), nil, true, 1},
		{"none is larger", aside.With(stalls.ByEnds{{"leaf5-0", "agg5-0"}: 8, {"leaf5-1", "agg5-0"}: 8}), nil, true, 1},
	} {
		m := New(g, Config{MinMeanPercent: 5, Overlap: true})
		m.Segment(c.region.With(c.others).On(t, g), new(linkset.Groups))
		var nodes, want []nodeID
		for i, l := range m.trees.links {
			from, to := g.Ends(schema.LinkID(l))
			ends := [2]string{g.Device(from).Name, g.Device(to).Name}
			if _, of := c.region[ends]; !of {
				continue
			}
			nodes = append(nodes, nodeID(i))
			if _, stays := tree[ends]; stays || c.isWhole {
				want = append(want, nodeID(i))
			}
		}
		if len(nodes) != len(c.region) {
			t.Fatalf("%s: %d of %d links are there", c.name, len(nodes), len(c.region))
		}
		var p pieces
		p.find(&m.trees)
		if got := p.drop(&m.trees, nodes, c.least); !slices.Equal(got, want) {
			t.Errorf("%s: %d links are left of %d, want %d", c.name, len(got), len(nodes), len(want))
		}
	}
}
