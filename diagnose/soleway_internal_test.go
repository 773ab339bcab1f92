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
	was := map[string]float64{"0,1,3>0,2,3": 40, "0,2,3>0,3,3": 50, "0,2,3>0,2,4": 30}
	for _, c := range []struct {
		name       string
		use, stall map[string]float64 // that differ
		unknown    string             // link that was not read
		isFound    bool
	}{
		{name: "lost rate", isFound: true},
		{name: "others lost load, too", use: map[string]float64{"0,2,3>0,2,4": 5}},
		{name: "waits itself", stall: map[string]float64{"0,2,3>0,3,3": 30}},
		{name: "another way on waits", stall: map[string]float64{"0,2,2>0,2,3": 30}},
		{name: "carries next to nothing", use: map[string]float64{"0,2,3>0,3,3": 4}},
		{name: "carries as much as before", use: map[string]float64{"0,2,3>0,3,3": 45}},
		{name: "lost more than went there", use: map[string]float64{"0,1,3>0,2,3": 0, "0,2,3>0,3,3": 38}},
		{name: "a way on is not measured", unknown: "0,2,3>0,2,4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newTiedUp(t)
			g := u.stage.graph
			set := func(series *schema.Series, values map[string]float64) {
				for name, v := range values {
					series.Values[linkBetween(t, g, name)] = float32(v)
				}
			}
			set(u.p.stall, map[string]float64{"0,1,3>0,2,3": 90})
			set(u.p.stall, c.stall)
			set(u.p.use, map[string]float64{"0,1,3>0,2,3": 12, "0,2,3>0,3,3": 25, "0,2,3>0,2,4": 29})
			set(u.p.use, c.use)
			for name, v := range was {
				u.was[linkBetween(t, g, name)] = v
			}
			if c.unknown != "" {
				u.p.use.Valid.Unset(int(linkBetween(t, g, c.unknown)))
			}
			rc := &regionCase{region: &schema.Region{Links: slices.Sorted(maps.Keys(u.was))}}
			n := u.p.soleWay(rc)
			if got := n.link == linkBetween(t, g, "0,2,3>0,3,3") && n.tail == u.device(t, "0,2,3") && n.sole && n.slower; got != c.isFound {
				t.Errorf("%+v: found %v, want %v", n, got, c.isFound)
			}
		})
	}
}

// TestAveragesSinceTheOnset: readings are averaged over the last intervals since the onset, those that were lost left out.
func TestAveragesSinceTheOnset(t *testing.T) {
	u := newTiedUp(t)
	s := u.stage
	s.clock = clock{duration: 60e9, now: 9}
	use, stall := s.memory.of(schema.BandwidthUsed), s.memory.of(schema.CreditStall)
	for slot, v := range map[int64]uint8{1: 250, 6: 20, 7: 30, 8: levelMissing, 9: 40} {
		use.row(slot)[17] = v
		stall.row(slot)[17] = 10 * min(v, 20)
	}
	for onset, want := range map[int]float64{-1: 0, 9: 0, 8: 16, 7: 14, 6: 12, 0: 12} {
		rc := &regionCase{region: &schema.Region{}, stall: make([]float64, 10), onset: onset}
		s.work.interval++
		p := s.averaged(rc, u.p)
		if got := p.useOf(17); got != want {
			t.Errorf("onset %d: %v, want %v", onset, got, want)
		}
		if p != u.p && (p.use != s.averaged(rc, u.p).use || p.useOf(18) != -1 || p.before(17) != 0) {
			t.Errorf("onset %d: not the same means, or of links that were not read", onset)
		}
	}
}
