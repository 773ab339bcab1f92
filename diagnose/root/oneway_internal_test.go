package root

import (
	"fmt"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestReadingsAreMeans: stall and use of links for which packets always wait add up to all of the time, or to half if
// readings are the mean of both directions; such links are not idle. Links that are idle part of the time, and readings
// that are sums, show no such floor.
func TestReadingsAreMeans(t *testing.T) {
	for _, c := range []struct {
		name        string
		stalls, use []float32 // by link, percent
		oneWay      float64
		idle        bool
	}{
		{name: "sums, always waiting", stalls: []float32{90, 80, 70, 60, 85, 75},
			use: []float32{10, 20, 30, 40, 15, 26}, oneWay: 1},
		{name: "means, always waiting", stalls: []float32{40, 35, 45, 48, 38, 41},
			use: []float32{10, 15, 5, 2, 12, 9}, oneWay: .5},
		{name: "means, others' traffic the other way", stalls: []float32{40, 35, 45, 48, 38, 41},
			use: []float32{10, 15, 5, 22, 30, 40}, oneWay: .5},
		{name: "sums, partly idle", stalls: []float32{60, 42, 30, 25, 21, 50}, use: []float32{20, 12, 10, 8, 5, 1},
			oneWay: 1, idle: true},
		{name: "one link", stalls: []float32{40}, use: []float32{10}, oneWay: 1, idle: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newTiedUp(t)
			var links []schema.LinkID
			for i, stall := range c.stalls {
				l := roottest.Link(t, u.Graph, fmt.Sprintf("%d,7,2>%d,7,3", i, i))
				u.Stall.Values[l], u.Use.Values[l] = stall, c.use[i]
				links = append(links, l)
			}
			slices.Sort(links)
			r := u.f.On(u.Snap)
			r.Remember(new(Floor))
			p := r.For(u.Stall, Past{Before: u.Torus.Before})
			if idle := u.f.Region(p, links).idles(); p.oneWay != c.oneWay || idle != c.idle {
				t.Errorf("one direction shows %.1f of the time, want %.1f; idle %v, want %v", p.oneWay, c.oneWay,
					idle, c.idle)
			}
		})
	}
}

// TestWhatReadingsStandForIsRemembered: one interval with few links at the floor, or many by chance, does not change
// what many earlier ones showed.
func TestWhatReadingsStandForIsRemembered(t *testing.T) {
	means, sums := []float32{40, 35, 45, 48, 38, 41}, []float32{90, 80, 70, 60, 85, 75}
	for _, c := range []struct {
		name       string
		usual, now []float32
		oneWay     float64
	}{
		{"means", means, sums, .5},
		{"sums", sums, means, 1},
	} {
		var all Floor
		interval := func(stalls []float32) float64 {
			u := newTiedUp(t)
			for i, stall := range stalls {
				l := roottest.Link(t, u.Graph, fmt.Sprintf("%d,7,2>%d,7,3", i, i))
				u.Stall.Values[l], u.Use.Values[l] = stall, 10
			}
			p := u.f.On(u.Snap)
			p.Remember(&all)
			return p.oneWay
		}
		for range 9 {
			if got := interval(c.usual); got != c.oneWay {
				t.Errorf("%s: one direction shows %.1f of the time", c.name, got)
			}
		}
		if got := interval(c.now); got != c.oneWay {
			t.Errorf("%s, but for an interval: one direction shows %.1f of the time", c.name, got)
		}
	}
}
