package diagnose

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Of one region after another, the links at some devices are those that a look at all of them finds.
func TestLinksBesideDevices(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=3,hosts=4,spines=2")
	rng := rand.New(rand.NewPCG(1, 2))
	b := newLinksBeside(g)
	for range 300 {
		var region []schema.LinkID
		for l := range schema.LinkID(g.NumLinks()) {
			if rng.IntN(3) == 0 {
				region = append(region, l)
			}
		}
		devices := make([]topology.DeviceID, rng.IntN(4))
		for i := range devices {
			devices[i] = topology.DeviceID(rng.IntN(g.NumDevices()))
		}
		var want []int32
		for i, l := range region {
			if from, to := g.Ends(l); slices.Contains(devices, from) || slices.Contains(devices, to) {
				want = append(want, int32(i))
			}
		}
		b.index(region)
		if got := b.find(devices); !slices.Equal(got, want) {
			t.Fatalf("at %v, of %v: %v, want %v", devices, region, got, want)
		}
	}
}
