package trees

import (
	"math"
	"testing"
)

// TestCostOfOneWayCountsTheWaysToTheCause checks what it costs that of the uplinks of a leaf only one stalls: it grows with the
// number of the others that were read and lead to the cause, and with the hosts that wait.
func TestCostOfOneWayCountsTheWaysToTheCause(t *testing.T) {
	const cause, another causeID = 0, 1
	// Device 0 is a leaf below the spines 1 to 3, each with a link down to leaf 4. Link 0 of host 5 waits for links 1 to 3 up,
	// of which 1 stalls, and these for links 4 to 6 down.
	const host, up, down = 0, 1, 4
	for _, c := range []struct {
		name   string
		of     [3]causeID // of the links down
		second float32    // reading of the second link up
		want   float64    // share of the ways
	}{
		{"all lead to the cause", [3]causeID{cause, cause, cause}, 0, 1. / 3},
		{"one leads to another cause", [3]causeID{cause, another, cause}, 0, 1. / 2},
		{"one was not read", [3]causeID{cause, cause, cause}, -1, 1. / 2},
		{"no other leads to the cause", [3]causeID{cause, another, another}, 0, 1},
	} {
		w := &waits{from: []deviceID{5, 0, 0, 0, 1, 2, 3}, to: []deviceID{0, 1, 2, 3, 4, 4, 4},
			kinds: []linkKind{fromHost, upward, upward, upward, downward, downward, downward},
			level: []int8{1, 2, 2, 2, 1, 0}, isSwitch: []bool{true, true, true, true, true, false}}
		w.out.list(w.from, 6)
		n := nodes{waits: w, values: readings{50, 50, c.second, 0, 50, 50, 50}, links: []linkID{host, up, down, down + 1, down + 2},
			node: []nodeID{0, 1, -1, -1, 2, 3, 4}, from: []deviceID{5, 0, 1, 2, 3}, to: []deviceID{0, 1, 4, 4, 4}}
		n.leaving.list(n.from, 6)
		n.into.list(n.to, 6)
		h := &shares{of: make([]partList, 5)}
		for k, of := range c.of {
			h.of[2+k].set(part{cause: of, stall: 50})
		}
		got := h.costOfOneWay(&trees{waiting: waiting{nodes: n}}, 1, cause)
		if want := costOf(c.want); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: costs %v, want %v", c.name, got, want)
		}
	}
}
