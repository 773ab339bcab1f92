package trees

import "testing"

// TestLeavesOfAGroupAreNotBelowASwitch checks that a leaf without uplinks, whose group has the number that a switch has in the
// order of names, is not taken to be below that switch; leaves below one switch are, and so are leaves of one group.
func TestLeavesOfAGroupAreNotBelowASwitch(t *testing.T) {
	const (
		top, under, beside deviceID = 0, 1, 2 // under and beside have a link up to top
		alone, other       deviceID = 3, 4    // of the group whose number is the place of top
		ungrouped          deviceID = 5
	)
	w := &waits{from: []deviceID{under, beside}, to: []deviceID{top, top}, kinds: []linkKind{upward, upward},
		byName: []nameRank{5, 1, 2, 3, 4, 0}, group: []groupID{-1, -1, -1, 5, 5, -1}}
	w.out.list(w.from, 6)
	for _, c := range []struct {
		a, b deviceID
		want bool
	}{{under, beside, true}, {alone, other, true}, {under, alone, false}, {under, ungrouped, false}, {alone, ungrouped, false}} {
		if got := w.below(c.a) == w.below(c.b); got != c.want {
			t.Errorf("leaves %d and %d are below the same: %v", c.a, c.b, got)
		}
	}
}
