package trees_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/segmenttest"
)

// A cable between switches that lost rate is the root of what waits for it, beside an incast that has most of the same sources.
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
