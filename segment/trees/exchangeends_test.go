package trees_test

import (
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// fabricWide stalls every link to a router of a dragonfly by 20%, as an exchange of all hosts, and some links by more.
func fabricWide(g *topology.Graph, more map[[2]string]float32) stalls.Painting {
	values, _ := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (float32, bool) {
		if v, ok := more[[2]string{from.Name, to.Name}]; ok {
			return v, false
		}
		if to.Kind == topology.Host {
			return 0, false
		}
		return 20, false
	})
	return values
}

// An exchange of all routers of a dragonfly is one region without a root, and a tree at one of its routers another, though
// all that exchanges may also wait for the tree's root.
func TestTreeInAnExchangeOfADragonfly(t *testing.T) {
	g := stalls.Fabric(t, stalls.SeventeenGroups)
	if got := segmenttest.Find(t, g, segmenttest.Overlapping(), fabricWide(g, nil).Noisy(1.5, 1)); len(got) != 1 {
		t.Errorf("an exchange: %s, want one region", segmenttest.Sizes(got))
	}
	more := map[[2]string]float32{
		{"router0-0", "host0"}: 60, {"router0-1", "router0-0"}: 75, {"router0-2", "router0-0"}: 75, {"router0-3", "router0-0"}: 75, {"router0-4", "router0-0"}: 75,
	}
	for _, way := range [][2]string{{"host4", "1"}, {"host5", "1"}, {"host8", "2"}, {"host9", "2"}, {"host12", "3"}, {"host16", "4"}} {
		more[[2]string{way[0], "router0-" + way[1]}] = 70
	}
	root := stalls.LinkNamed(t, g, "router0-0", "host0")
	got := segmenttest.Find(t, g, segmenttest.Overlapping(), fabricWide(g, more).Noisy(1.5, 1))
	roots := 0
	for _, r := range got {
		if r.Root != nil && r.Root.Link == root {
			roots++
			if n := len(r.Links); n < 8 || n > 18 {
				t.Errorf("the tree has %d links, want about 11", n)
			}
		}
	}
	if len(got) != 2 || roots != 1 {
		t.Errorf("%s, %d with the tree's root, want two, one of them", segmenttest.Sizes(got), roots)
	}
}

// Exchanges of two groups of a dragonfly, at levels of their own and without a link between them that stalls, are two regions.
func TestExchangesOfTwoGroups(t *testing.T) {
	g := stalls.Fabric(t, stalls.SeventeenGroups)
	levels := map[int32]float32{}
	for d := range topology.DeviceID(g.NumDevices()) {
		switch g.Device(d).Name {
		case "router0-0":
			levels[g.Device(d).Group] = 33
		case "router6-0":
			levels[g.Device(d).Group] = 24
		}
	}
	values, _ := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (float32, bool) {
		if from.Kind == topology.Switch && to.Kind == topology.Switch && from.Group == to.Group {
			return levels[from.Group], false
		}
		return 0, false
	})
	for seed := range int64(10) {
		if got := segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(1.5, seed)); len(got) != 2 || len(got[0].Links) != 56 || len(got[1].Links) != 56 {
			t.Errorf("seed %d: %s, want two of 56 links", seed, segmenttest.Sizes(got))
		}
	}
}
