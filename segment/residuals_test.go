package segment

import (
	"math/rand"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// exchangeAsItHappens stalls most links to switches of four groups of a dragonfly, each by as much as it happens.
func exchangeAsItHappens(g *topology.Graph, seed int64) painting {
	rng, values := rand.New(rand.NewSource(seed)), blank(g)
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
	g := parse(t, "dragonfly:groups=9,routers=4,hosts=2")
	s := newSegmenter(t, g, DefaultConfig())
	for seed := range int64(20) {
		got := s.Step(snapshotOf(map[schema.Metric][]float32{schema.XmitWait: exchangeAsItHappens(g, seed)}))
		if len(got) != 1 {
			t.Errorf("seed %d: regions of %s, want one", seed, sizes(got))
		}
	}
}
