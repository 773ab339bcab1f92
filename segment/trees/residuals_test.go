package trees_test

import (
	"math/rand"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// exchangeAsItHappens stalls most links to switches of four groups of a dragonfly, each by as much as it happens.
func exchangeAsItHappens(g *topology.Graph, seed int64) stalls.Painting {
	rng, values := rand.New(rand.NewSource(seed)), stalls.Blank(g)
	for l := range values {
		a, b := g.Ends(schema.LinkID(l))
		if from, to := g.Device(a), g.Device(b); g.IsSwitch(b) && from.Group < 4 && to.Group < 4 && rng.Float64() < .8 {
			values[l] = float32(8 + 60*rng.Float64())
		}
	}
	return values
}

// What no partition explains, neither by levels nor by falls, is one region where it hangs together.
func TestWhatNothingExplainsIsOne(t *testing.T) {
	g := stalls.Fabric(t, "dragonfly:groups=9,routers=4,hosts=2")
	s := segmenttest.New(t, g, segment.DefaultConfig())
	for seed := range int64(20) {
		got := s.Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: exchangeAsItHappens(g, seed)}))
		if len(got) != 1 {
			t.Errorf("seed %d: regions of %s, want one", seed, segmenttest.Sizes(got))
		}
	}
}
