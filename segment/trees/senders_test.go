package trees_test

import (
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/segment/segmenttest"
)

// Exchanges of which nothing that comes stalls meet at every spine. Their levels part them, from each other and from one whose
// ways down stall; a leaf at which two add up is of both.
func TestExchangesThatMeetAtSpines(t *testing.T) {
	g := stalls.Fabric(t, sixteenLeaves)
	calm, hot, full := allWaysUp(15, 0, 0, 1, 2), allWaysUp(32, 0, 3, 4, 5), allWaysUp(60, 60, 6, 7, 8)
	values := calm.With(hot).With(full).On(t, g)
	wantRegions(t, "three", g, segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(.4, 1)), calm, hot, full)

	shared := calm.With(hot).With(allWaysUp(15+32, 0, 9)).On(t, g)
	wantRegions(t, "a leaf of two", g, segmenttest.Find(t, g, segmenttest.Overlapping(), shared.Noisy(.4, 1)), calm.With(allWaysUp(15, 0, 9)), hot.With(allWaysUp(32, 0, 9)))

	one := allWaysUp(15, 0, 0, 1, 2, 3).With(allWaysUp(16.5, 0, 4, 5, 6)) // what differs so little is one
	wantRegions(t, "one", g, segmenttest.Find(t, g, segmenttest.Overlapping(), one.On(t, g).Noisy(.4, 1)), one)
}
