package trees

import (
	"testing"

	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// TestRegionsTouchTheSwitchesAtBothEnds checks that a region touches the switches that its links leave and enter, and no other.
func TestRegionsTouchTheSwitchesAtBothEnds(t *testing.T) {
	stalled := &trees{Waits: backpressure.Waits{Nodes: backpressure.Nodes{From: []index.Device{0, 2}, To: []index.Device{1, 3}}}}
	stalled.Leaving.List(stalled.From, 4)
	stalled.Into.List(stalled.To, 4)
	p := &patches{region: []patchID{0, noRegion}}
	for d, want := range []bool{true, true, false, false} {
		if got := p.touches(stalled, index.Device(d)); got != want {
			t.Errorf("device %d is touched: %v", d, got)
		}
	}
}
