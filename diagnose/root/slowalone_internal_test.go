package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestASlowCableByStallAlone: of switches over which traffic spreads only one holds it back, and at one switch below it
// traffic waits that no other port upwards stalls: the cable between them lost rate. If others hold back as much, or
// nothing waits at the lower end, or it waits at several switches, that is not known.
func TestASlowCableByStallAlone(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	alone := map[string]float64{"leaf0>spine0": 50, "leaf1>spine0": 60, "host12>leaf3": 40, "host13>leaf3": 30}
	with := func(more map[string]float64) map[string]float64 {
		all := map[string]float64{}
		for _, m := range []map[string]float64{alone, more} {
			for link, stall := range m {
				all[link] = stall
			}
		}
		return all
	}
	for _, c := range []struct {
		name, region, slow string
		stalls             map[string]float64
	}{
		{"above", "leaf1>spine0", "spine0>leaf3", alone},
		{"below", "host12>leaf3", "leaf3>spine0", alone},
		{"it also counts that it is busy", "leaf1>spine0", "spine0>leaf3", with(map[string]float64{"host4>leaf1": 60})},
		{"both spines", "leaf1>spine0", "", with(map[string]float64{"leaf0>spine1": 30, "leaf1>spine1": 40})},
		{"nothing waits below", "leaf1>spine0", "", with(map[string]float64{"host12>leaf3": 0, "host13>leaf3": 0})},
		{"at two leaves", "leaf1>spine0", "", with(map[string]float64{"host8>leaf2": 40})},
		{"for another port", "host12>leaf3", "", with(map[string]float64{"spine1>leaf3": 40})},
	} {
		p, _ := readings(t, g, c.stalls, nil)
		p.Use, p.Rate = nil, nil
		back, want := follow(p, []schema.LinkID{roottest.Link(t, g, c.region)}), schema.NoLink
		if c.slow != "" {
			want = roottest.Link(t, g, c.slow)
		}
		if slow := back.SlowCable(); slow != want {
			t.Errorf("%s: %d, want %d (%s)", c.name, slow, want, c.slow)
		}
	}
}
