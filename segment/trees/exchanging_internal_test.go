package trees

import (
	"testing"

	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// TestLeavesOfAGroupAreNotBelowASwitch checks that a leaf without uplinks, whose group has the number that a switch has in the
// order of names, is not taken to be below that switch; leaves below one switch are, and so are leaves of one group.
func TestLeavesOfAGroupAreNotBelowASwitch(t *testing.T) {
	const (
		top, under, beside index.Device = 0, 1, 2 // under and beside have a link up to top
		alone, other       index.Device = 3, 4    // of the group whose number is the place of top
		ungrouped          index.Device = 5
	)
	w := &backpressure.Graph{From: []index.Device{under, beside}, To: []index.Device{top, top}, Kinds: []backpressure.LinkKind{backpressure.Upward, backpressure.Upward},
		ByName: []index.NameRank{5, 1, 2, 3, 4, 0}, Group: []index.Group{-1, -1, -1, 5, 5, -1}}
	w.Out.List(w.From, 6)
	for _, c := range []struct {
		a, b index.Device
		want bool
	}{{under, beside, true}, {alone, other, true}, {under, alone, false}, {under, ungrouped, false}, {alone, ungrouped, false}} {
		if got := w.Below(c.a) == w.Below(c.b); got != c.want {
			t.Errorf("leaves %d and %d are below the same: %v", c.a, c.b, got)
		}
	}
}
