package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/schema"
)

// TestMovedLoad: what a link carried before it failed explains what was added to the full link beside it, and nothing of
// what was added elsewhere, or when a link came back.
func TestMovedLoad(t *testing.T) {
	g := graphOf(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _, _ := readings(t, g, nil, map[string]float64{"spine1>leaf3": 100, "spine1>leaf2": 100})
	lost := linkBetween(t, g, "spine0>leaf3")
	p.before = func(l schema.LinkID) float64 {
		if l == lost {
			return 60
		}
		return 20
	}
	s := &Stage{graph: g, clock: clock{duration: 60e9}}
	for _, c := range []struct {
		full string
		kind schema.EventKind
		want float64
	}{
		{"spine1>leaf3", schema.LinkFailed, .75},
		{"spine1>leaf2", schema.LinkFailed, 0},
		{"spine1>leaf3", schema.LinkRestored, 0},
	} {
		rc := &regionCase{fullest: linkBetween(t, g, c.full)}
		capacity := g.Capacity(rc.fullest)
		rc.carries, rc.more = capacity, .8*capacity
		f := &failure{Failure: schema.Failure{Kind: c.kind}, links: []schema.LinkID{lost}}
		if got := s.moved(rc, f, p); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s, %s: %.2f of the load moved, want %.2f", c.full, c.kind, got, c.want)
		}
	}
}
