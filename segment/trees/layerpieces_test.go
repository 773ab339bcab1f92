package trees_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/segment/segmenttest"
)

// Traffic of other leaves over two spines waits for an exchange's links down from there, at any level: it is part of
// the exchange, unless a port at a leaf of the exchange, or a leaf of its own, explains it.
func TestTrafficThatWaitsForAnExchangeIsPartOfIt(t *testing.T) {
	g := stalls.Fabric(t, sixteenLeaves)
	exchange, others := allWaysUp(30, 30, 0, 1), stalls.ByEnds{}
	for spine := range 2 {
		over := fmt.Sprint("spine", spine)
		for leaf := 5; leaf < 10; leaf++ {
			at := fmt.Sprint("leaf", leaf)
			others[[2]string{at, over}] = float32(2*leaf + spine)
			others[[2]string{fmt.Sprint("host", 8*leaf+spine), at}] = float32(2 * leaf)
		}
	}
	both := exchange.Plus(others)
	wantRegions(t, "no root", g, segmenttest.Find(t, g, segmenttest.Overlapping(), both.On(t, g).Noisy(.4, 1)), both)
	for name, root := range map[string]stalls.ByEnds{
		"port at a leaf of the exchange": {{"leaf1", "host11"}: 60},
		"leaf of its own":                {{"spine0", "leaf12"}: 35, {"spine1", "leaf12"}: 35, {"leaf12", "host98"}: 35},
	} {
		if got := segmenttest.Find(t, g, segmenttest.Overlapping(), both.Plus(root).On(t, g).Noisy(.4, 1)); len(got) != 2 {
			t.Errorf("%s: %s, want the exchange and a tree", name, segmenttest.Sizes(got))
		}
	}
}
