package root

import (
	"maps"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestTheOnlyWayOnThatLostRate: where stall ends, a link that lost rate is the only way on that carries less than
// before. Ways on that are starved, because their sources wait elsewhere, are several, or carry next to nothing.
func TestTheOnlyWayOnThatLostRate(t *testing.T) {
	was := map[string]float64{"0,1,3>0,2,3": 40, "0,2,3>0,3,3": 50, "0,2,3>0,2,4": 30, "0,2,3>1,2,3": 90}
	for _, c := range []struct {
		name       string
		use, stall map[string]float64 // links that differ from the default
		unknown    string             // link without a reading
		isMean     bool               // readings are the mean of both directions
		isFound    bool
	}{
		{name: "lost rate", isFound: true},
		{name: "a link that does not wait lost more, in an earlier dimension",
			use: map[string]float64{"0,2,3>1,2,3": 0}, isFound: true},
		{name: "what leads to it waits for a part of the time", stall: map[string]float64{"0,1,3>0,2,3": 40}},
		{name: "lost rate, by means", isMean: true, isFound: true},
		{name: "others lost load, too", use: map[string]float64{"0,2,3>0,2,4": 5}},
		{name: "waits itself", stall: map[string]float64{"0,2,3>0,3,3": 30}},
		{name: "another way on waits", stall: map[string]float64{"0,2,2>0,2,3": 30}},
		{name: "lost most of its rate", use: map[string]float64{"0,1,3>0,2,3": 5, "0,2,3>0,3,3": 12}, isFound: true},
		{name: "carries next to nothing", use: map[string]float64{"0,2,3>0,3,3": 4}},
		{name: "carries as much as before", use: map[string]float64{"0,2,3>0,3,3": 45}},
		{name: "lost less than half of what waits lost", use: map[string]float64{"0,1,3>0,2,3": 0, "0,2,3>0,3,3": 33}},
		{name: "a way on is not measured", unknown: "0,2,3>0,2,4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newTiedUp(t)
			g := u.Graph
			if c.isMean {
				u.p.oneWay = meanOneWay
			}
			set := func(series *schema.Series, values map[string]float64) {
				for name, v := range values {
					series.Values[roottest.Link(t, g, name)] = float32(v * u.p.oneWay)
				}
			}
			set(u.p.Stall, map[string]float64{"0,1,3>0,2,3": 90})
			set(u.p.Stall, c.stall)
			set(u.p.Use, map[string]float64{"0,1,3>0,2,3": 12, "0,2,3>0,3,3": 25, "0,2,3>0,2,4": 29, "0,2,3>1,2,3": 90})
			set(u.p.Use, c.use)
			for name, v := range was {
				u.Was[roottest.Link(t, g, name)] = v * u.p.oneWay
			}
			if c.unknown != "" {
				u.p.Use.Valid.Unset(int(roottest.Link(t, g, c.unknown)))
			}
			n := walkOnGrid(u.f, u.p).soleWay(slices.Sorted(maps.Keys(u.Was)))
			if got := n.Link == roottest.Link(t, g, "0,2,3>0,3,3") && n.Tail == u.Device(t, "0,2,3") && n.Sole &&
				n.Slower; got != c.isFound {
				t.Errorf("%+v: found %v, want %v", n, got, c.isFound)
			}
		})
	}
}
