package diagnose

import (
	"math/rand/v2"
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Regions with more pasts than are kept alternate: each has its own balances, to the bit those summed up directly.
func TestBalancesOfAlternatingPasts(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=3,hosts=4,spines=2")
	p, _ := readings(t, g, nil, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	for l := range p.Use.Values {
		if p.Use.Values[l] = 100 * rng.Float32(); rng.IntN(8) > 0 {
			p.Use.Valid.Set(l)
		}
	}
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.read = &p.Readings
	for range 1000 {
		past := *p
		past.Number = 1 + rng.Uint32N(2*mostBalances)
		past.Before = func(l schema.LinkID) float64 { return float64(int(l)*int(past.Number)%12) - 1 }
		rc := &regionCase{in: &s.interval, pressure: &past}
		host := g.Hosts()[rng.IntN(len(g.Hosts()))]
		if got, want := *rc.balanceOf(host), balanceAlone(rc, host); got != want {
			t.Fatalf("host %d, past %d: %+v, want %+v", host, past.Number, got, want)
		}
	}
}

// balanceAlone is balanceOf by all links of the fabric, without memory.
func balanceAlone(rc *regionCase, host topology.DeviceID) hostBalance {
	b := hostBalance{known: true, past: rc.pressure.Number, read: true, before: true}
	for l := range schema.LinkID(rc.in.graph.NumLinks()) {
		from, to := rc.in.graph.Ends(l)
		if from != host && to != host {
			continue
		}
		b.carries += rc.in.read.Carries(l)
		if !rc.in.use(l).known {
			b.read = false
		}
		if !rc.baselineUse(l).known {
			b.before = false
		}
		if to == host {
			b.more -= rc.addedTo(l)
		} else {
			b.more += rc.addedTo(l)
		}
	}
	return b
}
