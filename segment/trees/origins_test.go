package trees_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// oneRegion checks that the stalled links of a painting are one region.
func oneRegion(t *testing.T, g *topology.Graph, s stalls.ByEnds, values stalls.Painting) {
	t.Helper()
	var want []schema.LinkID
	for ends, percent := range s {
		if l := stalls.LinkNamed(t, g, ends[0], ends[1]); percent >= schema.LowPercent {
			want = append(want, l)
		}
	}
	slices.Sort(want)
	got := segmenttest.New(t, g, segmenttest.Overlapping()).Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: values}))
	if len(got) != 1 || !slices.Equal(got[0].Links, want) {
		t.Errorf("got %s, want one region of %d links", segmenttest.Sizes(got), len(want))
	}
}

// If one link of a group is all that waits at a switch, that link is the root, though few links wait for it.
func TestOnlyLinkIntoASwitchIsTheRoot(t *testing.T) {
	g := stalls.Fabric(t, "dragonfly:groups=17,routers=8,hosts=4")
	s := stalls.ByEnds{{"router0-5", "router0-6"}: 60}
	for l := range schema.LinkID(g.NumLinks()) {
		a, b := g.Ends(l)
		from, to := g.Device(a).Name, g.Device(b).Name
		if to != "router0-5" || strings.HasPrefix(from, "router0-") || !g.IsSwitch(a) {
			continue
		}
		s[[2]string{from, to}] = 55
		for k := range schema.LinkID(g.NumLinks()) {
			if host, router := g.Ends(k); router == a && !g.IsSwitch(host) {
				s[[2]string{g.Device(host).Name, from}] = 50
			}
		}
	}
	snap := stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: s.On(t, g)})
	got := segmenttest.New(t, g, segmenttest.Overlapping()).Step(snap)
	if want := stalls.LinkNamed(t, g, "router0-5", "router0-6"); len(got) != 1 || got[0].Root == nil || got[0].Root.Link != want {
		t.Errorf("%s, want one region with its root at link %d", segmenttest.Sizes(got), want)
	}
}

// Links that only wait for each other in a cycle are a region, too.
func TestCircleOfWaiting(t *testing.T) {
	b := topology.NewBuilder("ring")
	const switches = 9
	var at []topology.DeviceID
	for i := range switches {
		at = append(at, b.Device(topology.Device{Name: fmt.Sprint("s", i), Kind: topology.Switch, Level: -1, Group: -1}))
	}
	for i := range at {
		b.Both(topology.Link{From: at[i], FromPort: "1", To: at[(i+1)%switches], ToPort: "2", CapacityBytesPerSecond: 1e9, Class: topology.ClassSwitch, Dim: -1})
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	s := stalls.ByEnds{}
	for i := range switches {
		s[[2]string{fmt.Sprint("s", i), fmt.Sprint("s", (i+1)%switches)}] = 40
	}
	oneRegion(t, g, s, s.On(t, g))
}

// Links down to a switch of one pod are not part of a tree in another, even if all its sources lead there too.
func TestWhatComesDownStaysInItsPod(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=8")
	tree := stalls.ByEnds{{"leaf0-0", "host0"}: 70}
	for agg := range 4 {
		up, down := fmt.Sprint("agg2-", agg), fmt.Sprint("agg0-", agg)
		tree[[2]string{down, "leaf0-0"}] = 60
		for core := 4 * agg; core < 4*agg+4; core++ {
			tree[[2]string{fmt.Sprint("core", core), down}] = 50
			tree[[2]string{up, fmt.Sprint("core", core)}] = 40
		}
		for leaf := range 4 {
			tree[[2]string{fmt.Sprint("leaf2-", leaf), up}] = 30
		}
	}
	other := stalls.ByEnds{}
	for core := range 4 {
		name := fmt.Sprint("core", core)
		other[[2]string{name, "agg3-0"}] = 25
		other[[2]string{"agg1-0", name}] = 22
		other[[2]string{fmt.Sprint("leaf1-", core), "agg1-0"}] = 20
	}
	snap := stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: tree.With(other).On(t, g)})
	got := segmenttest.New(t, g, segmenttest.Overlapping()).Step(snap)
	if len(got) != 2 || slices.Contains(got[0].Links, stalls.LinkNamed(t, g, "core0", "agg3-0")) {
		t.Errorf("got %s, want the tree, and what comes down elsewhere by itself", segmenttest.Sizes(got))
	}
}
