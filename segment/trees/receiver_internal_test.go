package trees

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
)

// Hosts that push wait for a receiver at their leaf that stalls less than they do: it is the root. It is not if it
// sends, if another port may be the root, or if most of the region enters other switches.
func TestReceiverOfARegion(t *testing.T) {
	g := stalls.Fabric(t, stalls.TwoLevels)
	hosts := func(leaf, n int) stalls.ByEnds {
		s := stalls.ByEnds{}
		for i := range n {
			s[[2]string{fmt.Sprintf("host%d", 8*leaf+1+i), fmt.Sprintf("leaf%d", leaf)}] = 90
		}
		return s
	}
	tree := hosts(3, 5).With(stalls.ByEnds{{"leaf3", "host24"}: 58})
	for name, test := range map[string]struct {
		stall  stalls.ByEnds
		isRoot bool
	}{
		"its leaf":         {tree, true},
		"others as well":   {tree.With(hosts(4, 5)), true},
		"it sends":         {tree.With(stalls.ByEnds{{"host24", "leaf3"}: 90}), false},
		"another port":     {tree.With(stalls.ByEnds{{"leaf3", "host31"}: 50}), false},
		"mostly elsewhere": {tree.With(hosts(4, 6)), false},
	} {
		var region []schema.LinkID
		for ends := range test.stall {
			region = append(region, stalls.LinkNamed(t, g, ends[0], ends[1]))
		}
		m := New(g, Config{MinMeanPercent: 5, Overlap: true})
		m.Segment(test.stall.On(t, g), new(linkset.Groups))
		want := root{device: noDevice, link: schema.NoLink}
		if port := stalls.LinkNamed(t, g, "leaf3", "host24"); test.isRoot {
			want = root{device: m.waits.from[port], link: port}
		}
		if got := m.receiverOf(region); got != want {
			t.Errorf("%s: root %+v, want %+v", name, got, want)
		}
	}
}
