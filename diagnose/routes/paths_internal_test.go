package routes

import (
	"testing"

	"github.com/giverny/giverny/topology"
)

// TestDistancesAreOfSwitches: the distances kept for a goal grow with the switches, not with the hosts, so that those
// of all leaves of a large tree fit.
func TestDistancesAreOfSwitches(t *testing.T) {
	g, err := topology.Parse("f", "fattree:leaves=6,hosts=40,spines=3")
	if err != nil {
		t.Fatal(err)
	}
	paths, kept := NewRouter(g).Paths, 0
	for d := range topology.DeviceID(g.NumDevices()) {
		paths.distances(paths.leaves[d][0])
	}
	for _, dist := range paths.dist {
		kept += len(dist)
	}
	if len(paths.dist) != 9 || kept != 9*9 {
		t.Errorf("%d goals have %d distances, want those of 9 switches to each other", len(paths.dist), kept)
	}
}
