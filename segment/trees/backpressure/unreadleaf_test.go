package backpressure_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/segmenttest"
)

// A leaf with no measured link out of it takes part in an exchange with the few of its hosts that stall.
func TestUnreadLeafTakesPart(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=8,hosts=16,spines=8")
	s := stalls.ByEnds{}
	for leaf := range 6 {
		at := fmt.Sprint("leaf", leaf)
		for k := range 8 {
			spine := fmt.Sprint("spine", k)
			s[[2]string{at, spine}], s[[2]string{spine, at}] = 40, 40
			if host := fmt.Sprint("host", 16*leaf+k); k < 4 {
				s[[2]string{at, host}], s[[2]string{host, at}] = 40, 40
			}
		}
	}
	values := s.On(t, g)
	for l := range schema.LinkID(g.NumLinks()) {
		if from, _ := g.Ends(l); g.Device(from).Name == "leaf5" {
			values[l] = linkset.Missing
		}
	}
	snap := stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: values})
	if got := segmenttest.New(t, g, segmenttest.Overlapping()).Step(snap); len(got) != 1 {
		t.Errorf("%s, want one", segmenttest.Sizes(got))
	}
}
