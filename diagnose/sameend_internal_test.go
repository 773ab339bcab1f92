package diagnose

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
)

// TestPartsShareAnEnd: a part of a tree that does not show where it ends takes the end of the part beside it that does,
// if its links lead there; what lies apart, leads elsewhere or began at another time does not.
func TestPartsShareAnEnd(t *testing.T) {
	g := roottest.Graph(t, "torus:8x8x8")
	end, _ := g.FindDevice("0,0,4")
	stalls := map[string]float64{"0,0,2>0,0,3": 80, "0,0,3>0,0,4": 80, "0,7,2>0,0,2": 80, "0,6,2>0,7,2": 80, "3,3,3>3,3,4": 80, "0,1,2>1,1,2": 80, "0,1,2>0,1,3": 80}
	p, _ := readings(t, g, stalls, map[string]float64{"0,7,2>0,0,2": 20, "0,6,2>0,7,2": 20, "3,3,3>3,3,4": 20, "0,1,2>0,1,3": 20})
	s := &Stage{graph: g, router: routes.NewRouter(g)}
	s.work = newWork(g, s.router.Grid)
	part := func(onset int, names ...string) regionCase {
		rc := regionCase{region: &schema.Region{Metric: schema.CreditStall}, onset: onset, neck: root.Neck{Link: schema.NoLink}}
		for _, n := range names {
			rc.region.Links = append(rc.region.Links, roottest.Link(t, g, n))
		}
		slices.Sort(rc.region.Links)
		rc.weight, rc.waits = make([]float64, len(names)), make([]float64, len(names))
		return rc
	}
	for _, c := range []struct {
		name string
		part regionCase
		want bool
	}{
		{"beside it", part(5, "0,7,2>0,0,2", "0,6,2>0,7,2"), true},
		{"apart", part(5, "3,3,3>3,3,4"), false},
		{"leads elsewhere", part(5, "0,1,2>0,1,3"), false},
		{"began at another time", part(15, "0,7,2>0,0,2", "0,6,2>0,7,2"), false},
	} {
		whole := part(4, "0,0,2>0,0,3", "0,0,3>0,0,4")
		whole.drain, whole.flooded = root.Drain{Device: end, Fit: .9, Grew: true}, true
		cases := []regionCase{whole, c.part}
		s.work.index(cases)
		s.shareEnds(cases, false, p, &schema.Snapshot{Links: g.NumLinks(), Series: []schema.Series{*p.Stall}})
		if got := cases[1].shared && cases[1].drain.Device == end && cases[1].flooded; got != c.want {
			t.Errorf("%s: shares the end %v, want %v", c.name, got, c.want)
		}
	}
}
