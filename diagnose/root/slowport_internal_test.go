package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestPortThatCannotSendMore: a port is slow if inputs that wait for it stall longer than it sends, unless it is full.
func TestPortThatCannotSendMore(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _ := readings(t, g, map[string]float64{"leaf1>spine0": 60, "leaf2>spine0": 40, "leaf0>spine0": 2},
		map[string]float64{"leaf1>spine0": 4, "leaf2>spine0": 18, "spine0>leaf0": 22, "spine0>leaf3": 45})
	port := roottest.Link(t, g, "spine0>leaf0")
	p.Before = func(schema.LinkID) float64 { return 24 }
	can := func() bool { return p.canSend(port) >= ClearlyLess }
	if can() {
		t.Error("a port that carries 22% while inputs stall for half of the time can send more")
	}
	p.Use.Values[port] = 97
	if !can() {
		t.Error("a full port is not slow")
	}
}

// TestLoadedOrSlow: a port whose load is higher than ever before, by more than another one lost, is loaded.
func TestLoadedOrSlow(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _ := readings(t, g, map[string]float64{"spine0>leaf0": 30}, map[string]float64{"spine0>leaf0": 40, "leaf0>host0": 55, "leaf0>host1": 15})
	new, lost := roottest.Link(t, g, "leaf0>host0"), roottest.Link(t, g, "leaf0>host1")
	was := map[schema.LinkID]float64{lost: 29}
	p.Before = func(l schema.LinkID) float64 { return was[l] }
	if !p.loaded(new, lost) {
		t.Error("the port whose load is new is not what others wait for")
	}
	if was[new] = 50; p.loaded(new, lost) {
		t.Error("a port that carries what it always did is loaded")
	}
}
