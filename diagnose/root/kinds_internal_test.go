package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestKindOfAPort: what a port to a host is as a root follows from its use, its own stall, and what waits for it.
func TestKindOfAPort(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	port := roottest.Link(t, g, "leaf0>host0")
	for name, c := range map[string]struct {
		use, stall, waits float64 // of the port; and of what comes from the spine
		before            float64 // use of the port before the onset; -1: unknown
		want              string
	}{
		"full":                            {98, 0, 60, 98, schema.RootIncast},
		"full, and it stalls a little":    {80, 30, 60, 10, schema.RootIncast},
		"busy, and stalls the rest":       {70, 40, 60, 10, schema.RootSlowReceiver},
		"busy, and stalls less":           {70, 25, 60, 10, schema.RootIncast},
		"it stalls and sends little":      {50, 30, 60, 10, schema.RootSlowReceiver},
		"it carries less than before":     {30, 0, 20, 60, schema.RootSlowReceiver},
		"it cannot send what waits":       {30, 0, 60, -1, schema.RootSlowReceiver},
		"full for a part of the interval": {40, 0, 40, 10, schema.RootIncast},
		"it sends where most waits":       {40, 0, 10, 10, schema.RootIncast},
		"idle":                            {4, 0, 10, 10, ""},
	} {
		p, _ := readings(t, g, map[string]float64{"leaf0>host0": c.stall, "spine0>leaf0": c.waits},
			map[string]float64{"leaf0>host0": c.use, "spine0>leaf0": c.use})
		p.Before = func(schema.LinkID) float64 { return c.before }
		if got := (ports{p}).classify(Port{Link: port}); got.Kind != c.want {
			t.Errorf("%s: %q, want %q", name, got.Kind, c.want)
		}
		if p.Use = nil; c.stall > 0 {
			if got := (ports{p}).classify(Port{Link: port}); got.Kind != schema.RootSlowReceiver {
				t.Errorf("%s, and no load is measured: %q", name, got.Kind)
			}
		}
	}
}

// TestIncastAtASwitch: if the port is not known, the kind at the switch counts, and otherwise that of the port.
func TestIncastAtASwitch(t *testing.T) {
	for name, c := range map[string]struct {
		back BackPressure
		want bool
	}{
		"port":                {BackPressure{Root: Port{Kind: schema.RootIncast}}, true},
		"switch":              {BackPressure{Switch: Switch{Kind: schema.RootIncast, Share: .5}}, true},
		"a switch of another": {BackPressure{Switch: Switch{Kind: schema.RootSlowReceiver, Share: .5}}, false},
		"not most of it":      {BackPressure{Switch: Switch{Kind: schema.RootIncast, Share: .4}}, false},
		"a slow port of a switch": {BackPressure{Root: Port{Kind: schema.RootSlowReceiver},
			Switch: Switch{Kind: schema.RootIncast, Share: .5}}, false},
	} {
		if got := c.back.IsIncast(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestFullestPort: the fullest port of a switch is the one that blocks it if it is surely full, or clearly fuller than
// the next; of two that are about as full neither is named.
func TestFullestPort(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=3,hosts=2,spines=2")
	leaf, _ := g.FindDevice("leaf0")
	first := roottest.Link(t, g, "leaf0>spine0")
	for name, c := range map[string]struct {
		first, second float64
		want          schema.LinkID
	}{
		"both surely full":    {98, 96, first},
		"one clearly fuller":  {82, 60, first},
		"about as full":       {82, 79, schema.NoLink},
		"half full, clearly":  {60, 40, first},
		"half full, as alike": {60, 58, schema.NoLink},
	} {
		p, links := readings(t, g, map[string]float64{"host0>leaf0": 50, "host1>leaf0": 50},
			map[string]float64{"leaf0>spine0": c.first, "leaf0>spine1": c.second})
		if got := (ports{p}).fullest(leaf, links); got != c.want {
			t.Errorf("%s: link %d, want %d", name, got, c.want)
		}
	}
}

// TestSlowPort: a port that carries less than before is slow if it does not stall itself, as it then waits for what is
// behind it; a cable is slow if both directions keep one load, less than before, and that is no full cable.
func TestSlowPort(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=3,hosts=2,spines=2")
	leaf, _ := g.FindDevice("leaf0")
	up, down := roottest.Link(t, g, "leaf0>spine0"), roottest.Link(t, g, "spine0>leaf0")
	for name, c := range map[string]struct {
		use, back, before float64
		stall             float64
		flat, flatBack    bool // its load is constant, and that of the other direction
		port, cable       bool
	}{
		"it carries less":    {use: 30, back: 10, before: 60, port: true},
		"it carries as much": {use: 55, back: 10, before: 60},
		"it stalls itself":   {use: 30, back: 10, before: 60, stall: 30},
		"both directions lost rate": {use: 30, back: 29, before: 60, flat: true, flatBack: true, port: true,
			cable: true},
		"of unlike loads":             {use: 30, back: 20, before: 60, flat: true, flatBack: true, port: true},
		"it varies":                   {use: 30, back: 29, before: 60, flatBack: true, port: true},
		"the other varies":            {use: 30, back: 29, before: 60, flat: true, port: true},
		"still full":                  {use: 79, back: 78, before: 100, flat: true, flatBack: true, port: true},
		"both as much as they had":    {use: 58, back: 58, before: 60, flat: true, flatBack: true},
		"nothing in either direction": {before: 60, flat: true, flatBack: true},
	} {
		p, links := readings(t, g, map[string]float64{"host0>leaf0": 50, "host1>leaf0": 50},
			map[string]float64{"leaf0>spine0": c.use, "spine0>leaf0": c.back})
		p.Stall.Values[up] = float32(c.stall)
		p.Before = func(l schema.LinkID) float64 {
			if l == up || l == down {
				return c.before
			}
			return 0
		}
		p.Flat = func(l schema.LinkID) bool { return l == up && c.flat || l == down && c.flatBack }
		if got := (ports{p}).slowest(leaf, links) == up; got != c.port {
			t.Errorf("%s: slow port %t", name, got)
		}
		if got := (ports{p}).isCableSlow(up); got != c.cable {
			t.Errorf("%s: slow cable %t", name, got)
		}
	}
}
