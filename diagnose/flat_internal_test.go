package diagnose

import (
	"testing"

	"github.com/giverny/giverny/schema"
)

// TestALinkThatLostRateCarriesTheSame: where stall ends before a link that carries less than before, and the same in all
// intervals since the onset, that is its rate.
func TestALinkThatLostRateCarriesTheSame(t *testing.T) {
	steady := []uint8{31, 31, 32, 31, 31, 31}
	for _, c := range []struct {
		name    string
		carries []uint8 // since the onset, in steps of levels
		stalls  string  // another way on that stalls
		isFound bool
	}{
		{name: "the same", carries: steady, isFound: true},
		{name: "a reading is lost", carries: []uint8{31, 31, levelMissing, 31, 31, 31}, isFound: true},
		{name: "varies", carries: []uint8{28, 31, 34, 31, 27, 31}},
		{name: "not long enough", carries: steady[:3]},
		{name: "next to nothing", carries: []uint8{4, 4, 4, 4, 4, 4}},
		{name: "another way on waits", carries: steady, stalls: "0,2,3>0,2,4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newTiedUp(t)
			s, g := u.stage, u.stage.graph
			slow, fed := linkBetween(t, g, "0,2,3>0,3,3"), linkBetween(t, g, "0,1,3>0,2,3")
			s.clock = clock{duration: 60e9, now: 20}
			use := s.memory.of(schema.BandwidthUsed)
			for i, v := range c.carries {
				use.row(20 - int64(len(c.carries)-1-i))[slow] = v
			}
			u.was[slow], u.was[fed] = 40, 40
			u.p.use.Values[slow], u.p.use.Values[fed], u.p.stall.Values[fed] = float32(c.carries[0])/levelsPerPercent, 10, 95
			if c.stalls != "" {
				u.p.stall.Values[linkBetween(t, g, c.stalls)] = 60
			}
			rc := &regionCase{region: &schema.Region{Links: []schema.LinkID{fed}}, stall: make([]float64, 20), onset: 20 - len(c.carries) - 1}
			n := s.flatNeck(rc, u.p)
			if found := n.link == slow && n.tail == u.device(t, "0,2,3") && n.cannot && n.sole; found != c.isFound {
				t.Errorf("%+v: found %v, want %v", n, found, c.isFound)
			}
		})
	}
}
