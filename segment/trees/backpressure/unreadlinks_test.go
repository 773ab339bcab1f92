package backpressure_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/segmenttest"
)

// Where traffic to a port takes one path from each leaf, a leaf belongs to the tree even if its only uplink there has no value,
// or reads zero, and other links do, too; not if these lead elsewhere.
func TestUnreadLinksOfSinglePaths(t *testing.T) {
	g := stalls.Fabric(t, stalls.SixteenLeaves)
	tree := stalls.ByEnds{{"leaf12", "host96"}: 60}
	for leaf := range 5 {
		at, spine := fmt.Sprint("leaf", leaf), fmt.Sprint("spine", leaf)
		tree[[2]string{spine, "leaf12"}], tree[[2]string{at, spine}] = 50, 30
		for host := range 7 {
			tree[[2]string{fmt.Sprint("host", 8*leaf+host), at}] = 12
		}
	}
	elsewhere := stalls.ByEnds{{"leaf9", "host72"}: 60}
	for spine := 5; spine < 8; spine++ {
		elsewhere[[2]string{fmt.Sprint("spine", spine), "leaf9"}] = 50
	}
	for _, c := range []struct {
		name    string
		stalls  stalls.ByEnds
		reads   float32
		unread  [][2]string
		regions int
	}{
		{"all read", tree, 30, nil, 1},
		{"missing", tree, linkset.Missing, [][2]string{{"leaf2", "spine2"}}, 1},
		{"zero", tree, 0, [][2]string{{"leaf2", "spine2"}}, 1},
		{"two ways to one root", tree, 0, [][2]string{{"leaf2", "spine2"}, {"leaf2", "spine4"}}, 1},
		{"switch", tree, linkset.Missing, [][2]string{{"leaf2", "spine2"}, {"spine2", "leaf12"}}, 1},
		{"ways to two roots", tree.With(elsewhere), 0, [][2]string{{"leaf2", "spine2"}, {"leaf2", "spine6"}}, 3},
	} {
		values := c.stalls.On(t, g).Noisy(.4, 1)
		for l, v := range values { // only the readings in question are zero
			values[l] = max(v, .1)
		}
		for _, ends := range c.unread {
			values[stalls.LinkNamed(t, g, ends[0], ends[1])] = c.reads
		}
		if got := segmenttest.Find(t, g, segmenttest.Overlapping(), values); len(got) != c.regions {
			t.Errorf("%s: %s, want %d", c.name, segmenttest.Sizes(got), c.regions)
		}
	}
}

// A link alone at a core whose way down reads zero belongs to the tree behind that, if others wait for it in a row.
func TestLinksInARowBeforeAnUnreadOne(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=16")
	tree := stalls.ByEnds{{"leaf1-0", "host64"}: 60}
	for i := range 4 {
		pod := 2 + i
		leaf, agg, core, down := fmt.Sprintf("leaf%d-0", pod), fmt.Sprintf("agg%d-%d", pod, i), fmt.Sprint("core", 8*i), fmt.Sprint("agg1-", i)
		tree[[2]string{down, "leaf1-0"}], tree[[2]string{core, down}], tree[[2]string{agg, core}], tree[[2]string{leaf, agg}] = 50, 35, 25, 20
		for host := range 8 {
			tree[[2]string{fmt.Sprint("host", 64*pod+host), leaf}] = 15
		}
	}
	values := tree.On(t, g).Noisy(.4, 1)
	for l, v := range values {
		values[l] = max(v, .1)
	}
	values[stalls.LinkNamed(t, g, "core16", "agg1-2")] = 0
	if got := segmenttest.Find(t, g, segmenttest.Overlapping(), values); len(got) != 1 {
		t.Errorf("%s, want one", segmenttest.Sizes(got))
	}
}

// A plane of a tree over all paths belongs to it even if its switch in the root's pod reports nothing, or if its link down to the
// root's leaf has no value, nor the root's port.
func TestUnreadLinksDown(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=16")
	tree := stalls.ByEnds{{"leaf1-0", "host64"}: 60}
	for plane := range 8 {
		agg := fmt.Sprint("agg1-", plane)
		tree[[2]string{agg, "leaf1-0"}] = 50
		for k := range 8 {
			core := fmt.Sprint("core", 8*plane+k)
			tree[[2]string{core, agg}] = 35
			for pod := 4; pod < 7; pod++ {
				tree[[2]string{fmt.Sprintf("agg%d-%d", pod, plane), core}] = 22
			}
		}
	}
	isOfSwitch := func(from, to string) bool { return from == "agg1-2" || to == "agg1-2" }
	isLast := func(from, to string) bool {
		return isOfSwitch(from, to) || from == "agg1-3" && to == "leaf1-0" || to == "host64"
	}
	for name, isUnread := range map[string]func(from, to string) bool{"switch": isOfSwitch, "switch, link and port": isLast} {
		values := tree.On(t, g).Noisy(.4, 1)
		for l := range schema.LinkID(g.NumLinks()) {
			if from, to := g.Ends(l); isUnread(g.Device(from).Name, g.Device(to).Name) {
				values[l] = linkset.Missing
			}
		}
		if got := segmenttest.Find(t, g, segmenttest.Overlapping(), values); len(got) != 1 {
			t.Errorf("%s: %s, want one", name, segmenttest.Sizes(got))
		}
	}
}
