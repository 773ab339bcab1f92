package trees

import "testing"

// TestRegionsTouchTheSwitchesAtBothEnds checks that a region touches the switches that its links leave and enter, and no other.
func TestRegionsTouchTheSwitchesAtBothEnds(t *testing.T) {
	stalled := &trees{waiting: waiting{nodes: nodes{from: []deviceID{0, 2}, to: []deviceID{1, 3}}}}
	stalled.leaving.list(stalled.from, 4)
	stalled.into.list(stalled.to, 4)
	p := &patches{region: []patchID{0, noRegion}}
	for d, want := range []bool{true, true, false, false} {
		if got := p.touches(stalled, deviceID(d)); got != want {
			t.Errorf("device %d is touched: %v", d, got)
		}
	}
}
