package diagnose

import (
	"testing"

	"github.com/giverny/giverny/schema"
)

// TestFlooded: where full buffers hold up others a region carries less in all, but more arrives where its traffic ends;
// before a host that takes little, less does.
func TestFlooded(t *testing.T) {
	g := graphOf(t, "torus:4x4x4")
	end, _ := g.FindDevice("0,0,2")
	stalls := map[string]float64{"0,0,1>0,0,2": 80, "0,0,2>0,0,3": 80}
	p, _, _ := readings(t, g, stalls, map[string]float64{"0,0,1>0,0,2": 20, "0,0,2>0,0,3": 20, "0,0,2>1,0,2": 20})
	s := &Stage{graph: g}
	for _, c := range []struct {
		name   string
		before float64
		drain  drain
		want   bool
	}{
		{"more arrives", 2, drain{device: end, fit: .6}, true},
		{"less arrives", 40, drain{device: end, fit: .6}, false},
		{"not known what was before", -1, drain{device: end, fit: .6}, false},
		{"no end", 2, drain{}, false},
		{"added on the tree", 40, drain{device: end, fit: .6, grew: true}, true},
	} {
		p.before = func(schema.LinkID) float64 { return c.before }
		if got := s.floods(&regionCase{onset: 3, drain: c.drain}, p); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestIdleLinkHoldsNothing: nothing waits for a link that carried nothing before it failed; what it carried must be known.
func TestIdleLinkHoldsNothing(t *testing.T) {
	g := graphOf(t, "torus:4x4x4")
	p, _, _ := readings(t, g, nil, nil)
	s := &Stage{graph: g, clock: clock{duration: 60e9}}
	f := &failure{Failure: schema.Failure{Kind: schema.LinkFailed, Device: "0,0,1", Port: "Z+"}, links: []schema.LinkID{linkBetween(t, g, "0,0,1>0,0,2")}}
	for before, want := range map[float64]bool{0: true, 30: false, -1: false} {
		p.before = func(schema.LinkID) float64 { return before }
		if got := s.wasIdle(f, p); got != want {
			t.Errorf("carried %.0f%%: idle %v, want %v", before, got, want)
		}
	}
}

// TestFollowedNeck: a link that most of a region was followed to and for which packets wait needs no tree of suspects.
func TestFollowedNeck(t *testing.T) {
	around := &drain{tree: .2}
	for _, c := range []struct {
		neck neck
		want bool
	}{
		{neck{fit: .4, share: .9, waits: .9}, true},
		{neck{fit: .4, share: .9, waits: .1}, false},
		{neck{fit: .4, share: .1, waits: .9}, false},
		{neck{fit: .5, share: .1, waits: 0}, true},
	} {
		if got := c.neck.before(around); got != c.want {
			t.Errorf("%+v: %v, want %v", c.neck, got, c.want)
		}
	}
}
