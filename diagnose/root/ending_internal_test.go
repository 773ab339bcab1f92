package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestBackPressureEnds: back pressure ends at a link that stalled links lead to and that carries less than before, or
// more, even if most packets wait for one that stalls; or at the nodes of the switch on whose line links stall from both
// sides. Only if readings are the mean of both
// directions does an end at a link that lost rate mean that the link is slow.
func TestBackPressureEnds(t *testing.T) {
	type shows struct{ stall, use, before float64 }
	before := map[string]shows{"0,2,3>1,2,3": {44, 6, 20}, "1,2,3>2,2,3": {42, 8, 25}, "1,2,3>1,3,3": {0, 9, 9},
		"2,1,3>2,2,3": {38, 10, 20}, "2,2,3>2,3,3": {46, 4, 14}}
	with := func(name string, s shows) map[string]shows {
		out := map[string]shows{name: s}
		for l, v := range before {
			out[l] = v
		}
		return out
	}
	nodes := map[string]shows{"3,3,1>3,3,2": {42, 6, 4}, "3,3,2>3,3,3": {43, 7, 4}, "3,3,3>3,3,4": {43, 7, 5},
		"3,3,4>3,3,5": {42, 6, 4},
		"3,2,3>3,3,3": {30, 10, 3}, "3,3,3>3,4,3": {29, 10, 3}, "2,3,3>3,3,3": {28, 12, 4}}
	for _, c := range []struct {
		name   string
		links  map[string]shows
		link   string // where it ends; empty: at the nodes of 3,3,3
		isSlow bool
		means  bool
		inside float32 // stall inside the switch for the link before it
	}{
		{name: "a link that lost rate", links: with("2,3,3>2,4,3", shows{1, 8, 40}), link: "2,3,3>2,4,3",
			isSlow: true, means: true},
		{name: "a full link", links: with("2,3,3>2,4,3", shows{1, 55, 20}), link: "2,3,3>2,4,3", means: true},
		{name: "nodes", links: nodes, means: true},
		{name: "nodes, no means", links: nodes},
		{name: "a link that lost rate, no means", links: with("2,3,3>2,4,3", shows{1, 8, 40}), link: "2,3,3>2,4,3",
			isSlow: true},
		{name: "a link that lost rate, waits before it", links: with("2,3,3>2,4,3", shows{1, 14, 20}), link: "2,3,3>2,4,3",
			isSlow: true, inside: 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newTiedUp(t)
			was := map[schema.LinkID]float64{}
			var region []schema.LinkID
			for name, s := range c.links {
				l := roottest.Link(t, u.Graph, name)
				u.Stall.Values[l], u.Use.Values[l], was[l] = float32(s.stall), float32(s.use), s.before
				if s.stall >= schema.LowPercent {
					region = append(region, l)
				}
			}
			p := u.f.On(u.Snap).For(u.Stall, Past{Before: func(l schema.LinkID) float64 { return was[l] }})
			p.Inq = &schema.Series{Metric: schema.InqStall, Values: make([]float32, u.Graph.NumLinks()), Valid: u.Stall.Valid}
			p.Inq.Values[roottest.Link(t, u.Graph, "2,2,3>2,3,3")] = c.inside
			if p.oneWay = 1; c.means {
				p.oneWay = meanOneWay
			}
			r := u.f.Region(p, region)
			drain, _ := r.Drain(nil)
			ends := r.Endings(&drain)
			if !ends.Any.Found || ends.OfMeans != c.means {
				t.Fatalf("found: %v, of means: %v, want %v", ends.Any.Found, ends.OfMeans, c.means)
			}
			switch {
			case c.link == "":
				if at := u.Graph.Device(ends.Any.Device).Name; ends.Any.Link != schema.NoLink || at != "3,3,3" ||
					ends.AtNodes < .5 || ends.Any != ends.Nodes {
					t.Errorf("ends at %s, link %d, at nodes %.2f, want the nodes of 3,3,3", at, ends.Any.Link,
						ends.AtNodes)
				}
			case ends.Any.Link != roottest.Link(t, u.Graph, c.link) || ends.AtNodes > .5 || ends.Any != ends.Link ||
				ends.AtSlowLink() != c.isSlow:
				t.Errorf("ends at %s, link %d, at nodes %.2f, slow: %v; want %s, slow: %v", u.Graph.Device(ends.Any.Device).Name, ends.Any.Link, ends.AtNodes, ends.AtSlowLink(), c.link, c.isSlow)
			}
		})
	}
}
