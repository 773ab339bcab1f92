package trees_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/segmenttest"
)

// A cable between switches that lost rate is the root of what waits for it, beside an incast with mostly the same
// sources.
func TestSlowCableBesideIncast(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=8")
	s := stalls.ByEnds{{"leaf0-0", "host0"}: 60}
	for agg := range 4 {
		down := fmt.Sprint("agg0-", agg)
		s[[2]string{down, "leaf0-0"}] = 50
		for core := 4 * agg; core < 4*agg+4; core++ {
			s[[2]string{fmt.Sprint("core", core), down}] = 40
			for pod := 1; pod < 6; pod++ {
				s[[2]string{fmt.Sprintf("agg%d-%d", pod, agg), fmt.Sprint("core", core)}] = 30
			}
		}
	}
	s[[2]string{"core0", "agg7-0"}] = 90
	for pod := 1; pod < 6; pod++ {
		s[[2]string{fmt.Sprintf("agg%d-0", pod), "core0"}] = 80
		s[[2]string{fmt.Sprintf("leaf%d-0", pod), fmt.Sprintf("agg%d-0", pod)}] = 70
	}
	snap := stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: s.On(t, g)})
	roots := map[schema.LinkID]bool{}
	for _, r := range segmenttest.New(t, g, segmenttest.Overlapping()).Step(snap) {
		if r.Root != nil {
			roots[r.Root.Link] = true
		}
	}
	host, cable := stalls.LinkNamed(t, g, "leaf0-0", "host0"), stalls.LinkNamed(t, g, "core0", "agg7-0")
	if len(roots) != 2 || !roots[host] || !roots[cable] {
		t.Errorf("roots at links %v, want the receiver's port %d and the slow cable %d", roots, host, cable)
	}
}

// A slow uplink is the root of what waits for it, though it leads to a distant incast that stalls a third as much:
// upstream from a root stall falls, it does not rise.
func TestSlowLinkThatLeadsToIncast(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=8,hosts=8,spines=4")
	s := stalls.ByEnds{{"leaf0", "host0"}: 25, {"leaf5", "spine1"}: 60}
	for spine := range 4 {
		s[[2]string{fmt.Sprint("spine", spine), "leaf0"}] = 20
		for leaf := 1; leaf < 4; leaf++ {
			s[[2]string{fmt.Sprint("leaf", leaf), fmt.Sprint("spine", spine)}] = 15
		}
	}
	for host := 40; host < 48; host++ {
		s[[2]string{fmt.Sprint("host", host), "leaf5"}] = 50
	}
	links := map[schema.LinkID]int{}
	for _, r := range segmenttest.New(t, g, segmenttest.Overlapping()).Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: s.On(t, g)})) {
		if r.Root != nil {
			links[r.Root.Link] = r.Size
		}
	}
	host, up := stalls.LinkNamed(t, g, "leaf0", "host0"), stalls.LinkNamed(t, g, "leaf5", "spine1")
	if len(links) != 2 || links[host] != 17 || links[up] != 9 {
		t.Errorf("links by root %v, want 17 at the receiver's port %d and 9 at the slow link %d", links, host, up)
	}
}

// A slow link down is the root of what waits for it, beside an incast at another leaf, if no other link into its leaf
// stalls; else a port there may be the reason.
func TestSlowLinkDownToALeaf(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=16,hosts=8,spines=4")
	for _, c := range []struct {
		name  string
		other float32 // stall of another link down to that leaf
		roots int
	}{{"alone", 0, 2}, {"another way down waits", 55, 1}} {
		s := stalls.ByEnds{{"leaf0", "host0"}: 45, {"spine1", "leaf9"}: 60, {"spine2", "leaf9"}: c.other}
		for spine := range 4 {
			s[[2]string{fmt.Sprint("spine", spine), "leaf0"}] = 35
			for leaf := 1; leaf < 8; leaf++ {
				s[[2]string{fmt.Sprint("leaf", leaf), fmt.Sprint("spine", spine)}] = 25
			}
		}
		for leaf := 1; leaf < 8; leaf++ {
			s[[2]string{fmt.Sprint("leaf", leaf), "spine1"}] = 50
		}
		roots := map[schema.LinkID]bool{}
		for _, r := range segmenttest.New(t, g, segmenttest.Overlapping()).Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: s.On(t, g)})) {
			if r.Root != nil && r.Root.Link != schema.NoLink {
				roots[r.Root.Link] = true
			}
		}
		if down := stalls.LinkNamed(t, g, "spine1", "leaf9"); len(roots) != c.roots || roots[down] != (c.roots == 2) {
			t.Errorf("%s: roots at links %v, want %d with the slow link %d only where it is alone", c.name, roots, c.roots, down)
		}
	}
}

// A hot link between switches is no root if what it waits for was not read, or gets its traffic from it alone; or if the
// links that may wait for it may as well wait for a link beside it.
func TestHotLinkThatOthersExplain(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=16")
	s := stalls.ByEnds{{"leaf0-0", "host0"}: 80, {"agg0-0", "leaf0-0"}: 60, {"core0", "agg0-0"}: 50}
	for pod := 1; pod < 3; pod++ { // a leaf each of two pods sends to host0 over one path
		leaf, agg := fmt.Sprintf("leaf%d-0", pod), fmt.Sprintf("agg%d-0", pod)
		s[[2]string{agg, "core0"}], s[[2]string{leaf, agg}] = 40, 40
		for host := 64 * pod; host < 64*pod+8; host++ {
			s[[2]string{fmt.Sprint("host", host), leaf}] = 35
		}
	}
	unread := stalls.ByEnds{}
	for k := range 8 {
		unread[[2]string{"agg1-0", fmt.Sprint("core", k)}] = linkset.Missing
		if k > 0 {
			unread[[2]string{"agg1-0", fmt.Sprint("leaf1-", k)}] = linkset.Missing
		}
	}
	beside := stalls.ByEnds{{"agg0-0", "leaf0-1"}: 55}
	for k := range 8 {
		beside[[2]string{fmt.Sprint("core", k), "agg0-0"}] = 50
	}
	for _, c := range []struct {
		name     string
		from, to string // the hot link
		also     stalls.ByEnds
	}{
		{"not read", "leaf1-0", "agg1-0", unread},
		{"its own", "leaf1-0", "agg1-0", stalls.ByEnds{{"leaf1-0", "agg1-0"}: 60}},
		{"beside", "agg0-0", "leaf0-1", beside},
	} {
		hot := stalls.LinkNamed(t, g, c.from, c.to)
		for _, r := range segmenttest.New(t, g, segmenttest.Overlapping()).Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: s.With(c.also).On(t, g)})) {
			if r.Root != nil && r.Root.Link == hot {
				t.Errorf("%s: a region of %d links has the hot link as its root", c.name, r.Size)
			}
		}
	}
}
