package diagnose

import (
	"maps"
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
)

// TestTheOnlyWayOnThatLostRate: where stall ends, a link that lost rate is the one way on that carries less than before; ways
// on that are starved, as what feeds them waits elsewhere, are several, or carry next to nothing.
func TestTheOnlyWayOnThatLostRate(t *testing.T) {
	const onset, now = 6, 9
	was := map[string]float64{"0,1,3>0,2,3": 40, "0,2,3>0,3,3": 50, "0,2,3>0,2,4": 30}
	fell := map[string]float64{"0,1,3>0,2,3": 12, "0,2,3>0,3,3": 25, "0,2,3>0,2,4": 29}
	for _, c := range []struct {
		name       string
		use, stall map[string]float64 // that differ
		calmUntil  int64              // slot before which loads are as before the onset
		unknown    string             // link that was never read
		isFound    bool
	}{
		{name: "lost rate", isFound: true},
		{name: "others lost load, too", use: map[string]float64{"0,2,3>0,2,4": 5}},
		{name: "waits itself", stall: map[string]float64{"0,2,3>0,3,3": 30}},
		{name: "another way on waits", stall: map[string]float64{"0,2,2>0,2,3": 30}},
		{name: "carries next to nothing", use: map[string]float64{"0,2,3>0,3,3": 4}},
		{name: "carries as much as before", use: map[string]float64{"0,2,3>0,3,3": 45}},
		{name: "lost more than went there", use: map[string]float64{"0,1,3>0,2,3": 0, "0,2,3>0,3,3": 38}},
		{name: "in one interval of four", calmUntil: now},
		{name: "a way on is not measured", unknown: "0,2,3>0,2,4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := graphOf(t, "torus:8x8x8")
			s := &Stage{graph: g, router: newRouter(g), clock: clock{duration: 60e9, now: now}, memory: memory{length: 16, links: g.NumLinks()}}
			use, stall := s.memory.of(schema.BandwidthUsed), s.memory.of(schema.CreditStall)
			set := func(of *levels, slot int64, values map[string]float64) {
				for name, v := range values {
					of.row(slot)[linkBetween(t, g, name)] = uint8(v * levelsPerPercent)
				}
			}
			for slot := int64(onset); slot <= now; slot++ {
				clear(use.row(slot))
				clear(stall.row(slot))
				set(stall, slot, map[string]float64{"0,1,3>0,2,3": 90})
				set(stall, slot, c.stall)
				set(use, slot, was)
				if slot >= c.calmUntil {
					set(use, slot, fell)
					set(use, slot, c.use)
				}
				if c.unknown != "" {
					use.row(slot)[linkBetween(t, g, c.unknown)] = levelMissing
				}
			}
			before := map[schema.LinkID]float64{}
			for name, v := range was {
				before[linkBetween(t, g, name)] = v
			}
			p := &pressure{graph: g, stall: &schema.Series{Metric: schema.CreditStall}, before: func(l schema.LinkID) float64 { return before[l] }}
			rc := &regionCase{region: &schema.Region{Links: slices.Sorted(maps.Keys(before))}, stall: make([]float64, now+1), onset: onset}
			n := s.soleWay(rc, p)
			tail, _ := g.FindDevice("0,2,3")
			if got := n.link == linkBetween(t, g, "0,2,3>0,3,3") && n.tail == tail && n.sole && n.slower; got != c.isFound {
				t.Errorf("%+v: found %v, want %v", n, got, c.isFound)
			}
		})
	}
}
