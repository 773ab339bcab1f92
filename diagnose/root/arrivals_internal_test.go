package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestFlooded: if full buffers hold up other traffic, a region carries less in total, but more arrives where its
// traffic ends; at a slow host less arrives.
func TestFlooded(t *testing.T) {
	g := roottest.Graph(t, "torus:4x4x4")
	end, _ := g.FindDevice("0,0,2")
	stalls := map[string]float64{"0,0,1>0,0,2": 80, "0,0,2>0,0,3": 80}
	p, _ := readings(t, g, stalls, map[string]float64{"0,0,1>0,0,2": 20, "0,0,2>0,0,3": 20, "0,0,2>1,0,2": 20})
	for _, c := range []struct {
		name   string
		before float64
		drain  Drain
		want   bool
	}{
		{"more arrives", 2, Drain{Device: end, Fit: .6}, true},
		{"less arrives", 40, Drain{Device: end, Fit: .6}, false},
		{"not known what was before", -1, Drain{Device: end, Fit: .6}, false},
		{"added on the tree", 40, Drain{Device: end, Fit: .6, Grew: true}, true},
	} {
		p.Before = func(schema.LinkID) float64 { return c.before }
		if got := p.IsFlooded(&c.drain, end); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestFollowedBottleneck: a link for which packets wait, and to which most of a region was followed, needs no tree of
// suspects.
func TestFollowedBottleneck(t *testing.T) {
	around := &Drain{tree: .2}
	for _, c := range []struct {
		bottleneck Bottleneck
		want       bool
	}{
		{Bottleneck{Fit: .4, Share: .9, Waits: .9}, true},
		{Bottleneck{Fit: .4, Share: .9, Waits: .1}, false},
		{Bottleneck{Fit: .4, Share: .1, Waits: .9}, false},
		{Bottleneck{Fit: .5, Share: .1, Waits: 0}, true},
	} {
		if got := c.bottleneck.Before(around); got != c.want {
			t.Errorf("%+v: %v, want %v", c.bottleneck, got, c.want)
		}
	}
}
