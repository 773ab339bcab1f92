package trees_test

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// exchangeAsItHappens stalls most links to switches of four groups of a dragonfly, each at random.
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

// Connected stall that no partition explains, neither by levels nor by falls, is one region.
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

// pushedInto stalls a port to a host of pod 0 that hosts at two leaves of pod 1 push into, so stall rises upstream
// from the port; and beside it an exchange of two other leaves of pod 1, each link at random.
func pushedInto(g *topology.Graph, seed int64) stalls.Painting {
	rng := rand.New(rand.NewSource(seed))
	about := func(percent float64) float32 { return float32(percent * (.75 + .5*rng.Float64())) }
	pushes := func(d *topology.Device) bool { return d.Name == "leaf1-0" || d.Name == "leaf1-1" }
	values, _ := stalls.Where(g, func(_ schema.LinkID, from, to *topology.Device) (percent float32, wanted bool) {
		switch {
		case from.Name == "leaf0-0" && to.Name == "host0":
			return 35, true
		case to.Name == "leaf0-0" && from.Level == 2, to.Group == 0 && from.Level == 3:
			return about(45), true
		case from.Group == 1 && to.Level == 3, pushes(from) && to.Level == 2, pushes(to) && from.Level == 0:
			return about(75), true
		case from.Group == 1 && to.Group == 1 && from.Level >= 1 && to.Level >= 1 && !pushes(from) && !pushes(to):
			return float32(8 + 40*rng.Float64()), false
		}
		return 0, false
	})
	return values
}

// A visibly stalled port is why links wait, however little of their stall it explains: random stall beside them is
// another region, unless the port's host itself waits to send as much.
func TestSeenRootIsNotJoinedWithWhatNothingExplains(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=8")
	s := segmenttest.New(t, g, segment.DefaultConfig())
	port := stalls.LinkNamed(t, g, "leaf0-0", "host0")
	back := stalls.LinkNamed(t, g, "host0", "leaf0-0")
	joined := 0
	for seed := range int64(20) {
		values := pushedInto(g, seed)
		isRoot := func(r schema.Region) bool { return r.Root != nil && r.Root.Link == port }
		for _, sent := range []float32{0, 20} {
			values[back] = sent
			got := s.Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: values}))
			if len(got) != 2 || !slices.ContainsFunc(got, isRoot) {
				t.Errorf("seed %d, the host sends at %v%%: regions of %s, want two, one of them with its root at the port", seed, sent, segmenttest.Sizes(got))
			}
		}
		values[back] = 60
		if got := s.Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: values})); len(got) == 1 {
			joined++
		}
	}
	if joined == 0 {
		t.Error("where the port's host waits to send as much, the regions are never one, though those who exchange do both")
	}
}
