package tracking_test

import (
	"math/rand/v2"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/topology"
)

// noisy is a 12x12x12 torus on which one block is High, and 26 others stall weakly: noise turns them into
// regions of about the minimum size that come and go.
type noisy struct {
	weak, high [][]schema.LinkID
	rand       *rand.Rand
	values     []float32
}

func newNoisy(g *topology.Graph) *noisy {
	block := func(x, y, z, dx, dy, dz int) (links []schema.LinkID) {
		inside := func(d topology.DeviceID) bool {
			c := g.Device(d).Coord
			return c[0] >= x && c[0] < x+dx && c[1] >= y && c[1] < y+dy && c[2] >= z && c[2] < z+dz
		}
		for l := range g.NumLinks() {
			if from, to := g.Ends(schema.LinkID(l)); inside(from) && inside(to) {
				links = append(links, schema.LinkID(l))
			}
		}
		return links
	}
	n := &noisy{rand: rand.New(rand.NewPCG(12, 12)), values: make([]float32, g.NumLinks()), high: [][]schema.LinkID{block(8, 8, 8, 4, 4, 4)}}
	for x := 0; x < 12; x += 4 {
		for y := 0; y < 12; y += 4 {
			for z := 0; z < 12; z += 4 {
				if x+y+z < 24 {
					n.weak = append(n.weak, block(x, y, z, 2, 2, 3))
				}
			}
		}
	}
	return n
}

func (n *noisy) step() []float32 {
	for l := range n.values {
		n.values[l] = float32(max(0, 1+n.rand.NormFloat64()))
	}
	for _, links := range n.weak {
		for _, l := range links {
			n.values[l] = float32(max(0, 7.4+2*n.rand.NormFloat64()))
		}
	}
	for _, links := range n.high {
		for _, l := range links {
			n.values[l] = float32(35 + 3*n.rand.NormFloat64())
		}
	}
	return n.values
}

// The events of two minutes at intervals of a second, as counted in an operator's trial: without debouncing,
// and with it.
func TestEventsOfANoisyTorus(t *testing.T) {
	g := torus(t, "torus:12x12x12")
	count := func(cfg tracking.Config) (events, sizes, regions int) {
		s, err := segment.New(g, segment.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		tr, err := tracking.New(g, cfg)
		if err != nil {
			t.Fatal(err)
		}
		n := newNoisy(g)
		for now := range 120 {
			found := s.Step(snapshotOf(now, n.step()))
			for _, r := range found {
				if regions++; r.Severity == schema.Low {
					sizes += r.Size
				}
			}
			events += len(tr.Step(minuteAt(now), found).Events)
		}
		return events, sizes, regions
	}
	at := tracking.DefaultConfig()
	at.DebounceIntervals = 1
	before, sizes, regions := count(at)
	after := tracking.DefaultConfig()
	s, err := segment.New(g, segment.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	after.Limits = tracking.Limits{Links: s.MinLinks(), MeanPercent: segment.DefaultConfig().MinMeanPercent}
	now, _, _ := count(after)
	if mean := float64(sizes) / float64(regions-120); before < 150 || mean > 21 {
		t.Errorf("%d events without debounce, weak regions of %.1f links: that is no noise", before, mean)
	}
	if now != 2 {
		t.Errorf("%d events, want the birth of the High region and the beginning of its congestion event", now)
	}
	t.Logf("%d regions: %d events in 120 intervals without debounce, %d with", regions, before, now)
}
