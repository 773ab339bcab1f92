package segment

import (
	"testing"
)

// Exchanges of which nothing that comes stalls meet at every spine. Their levels part them, from each other and from one whose
// ways down stall; a leaf at which two add up is of both.
func TestExchangesThatMeetAtSpines(t *testing.T) {
	g := parse(t, sixteenLeaves)
	calm, hot, full := allWaysUp(15, 0, 0, 1, 2), allWaysUp(32, 0, 3, 4, 5), allWaysUp(60, 60, 6, 7, 8)
	values := calm.with(hot).with(full).on(t, g)
	wantRegions(t, "three", g, find(t, g, overlapping(), values.noisy(.4, 1)), calm, hot, full)

	shared := calm.with(hot).with(allWaysUp(15+32, 0, 9)).on(t, g)
	wantRegions(t, "a leaf of two", g, find(t, g, overlapping(), shared.noisy(.4, 1)), calm.with(allWaysUp(15, 0, 9)), hot.with(allWaysUp(32, 0, 9)))

	one := allWaysUp(15, 0, 0, 1, 2, 3).with(allWaysUp(16.5, 0, 4, 5, 6)) // what differs so little is one
	wantRegions(t, "one", g, find(t, g, overlapping(), one.on(t, g).noisy(.4, 1)), one)
}
