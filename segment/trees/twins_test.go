package trees_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/segmenttest"
)

// Two ports of one leaf that stall alike, to hosts that do not send, are the roots of two trees: a link that waits
// for one of them belongs to both, as stall does not show which.
func TestTwoLevelPortsOfOneLeafAreTwoTrees(t *testing.T) {
	g := stalls.Fabric(t, stalls.TwoLevels)
	s := stalls.ByEnds{{"leaf2", "host16"}: 60, {"leaf2", "host17"}: 60}
	for spine := range 4 {
		s[[2]string{fmt.Sprint("spine", spine), "leaf2"}] = 48
		for leaf := range 2 {
			s[[2]string{fmt.Sprint("leaf", leaf), fmt.Sprint("spine", spine)}] = 38
		}
	}
	roots := map[schema.LinkID]int{}
	for _, r := range segmenttest.New(t, g, segmenttest.Overlapping()).Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: s.On(t, g)})) {
		if r.Root != nil {
			roots[r.Root.Link] = r.Size
		}
	}
	a, b := stalls.LinkNamed(t, g, "leaf2", "host16"), stalls.LinkNamed(t, g, "leaf2", "host17")
	if want := 1 + 4 + 8; len(roots) != 2 || roots[a] != want || roots[b] != want {
		t.Errorf("links by root %v, want %d at each of the ports %d and %d", roots, want, a, b)
	}
}
