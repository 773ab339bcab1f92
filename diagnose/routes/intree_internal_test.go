package routes

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Routes that are led to a switch together load the links that they load one by one.
func TestRoutesThatMeetGoOnTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, spec := range []string{"torus:6x5x4", "torus:8x8", "mesh:5x4x3"} {
		g := graphOf(t, spec)
		grid := NewRouter(g).Grid
		tree := grid.NewInTree()
		for range 50 {
			end, want := topology.DeviceID(rng.IntN(g.NumDevices())), make([]float64, g.NumLinks())
			for range 1 + rng.IntN(20) {
				from, routes := topology.DeviceID(rng.IntN(g.NumDevices())), float64(1+rng.IntN(3))
				tree.send(from, routes)
				grid.EachOnRoute(from, end, func(l schema.LinkID) { want[l] += routes })
			}
			tree.converge(end, len(grid.Dims()))
			if !slices.Equal(tree.Load, want) {
				t.Fatalf("%s to %s: loads\n%v, want\n%v", spec, g.Device(end).Name, tree.Load, want)
			}
			tree.Reset()
		}
	}
}

// The part of an exchange before a link that it crosses is what following its routes one by one gives.
func TestUpstreamIsWhatRoutesLoadBeforeALink(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, spec := range []string{"torus:6x5x4", "torus:8x7", "mesh:5x4x3"} {
		g := graphOf(t, spec)
		r := NewRouter(g)
		tree, loaded := r.Grid.NewInTree(), false
		for range 30 {
			var devices []topology.DeviceID
			for d := range topology.DeviceID(g.NumDevices()) {
				if rng.IntN(3) == 0 {
					devices = append(devices, d)
				}
			}
			l := schema.LinkID(rng.IntN(g.NumLinks()))
			tail, far := g.Ends(l)
			if rng.IntN(2) == 0 {
				tail = far
			}
			want := make([]float64, g.NumLinks())
			for _, from := range devices {
				for _, to := range devices {
					for _, before := range crossing(g, r.Grid, from, to, l, tail) {
						want[before]++
						loaded = true
					}
				}
			}
			if tree.Upstream(r.route(devices), l, tail, nil); !slices.Equal(tree.Load, want) {
				t.Fatalf("%s, %d nodes, link %d from %s: routes\n%v, want\n%v", spec, len(devices), l, g.Device(tail).Name, tree.Load, want)
			}
			tree.Reset()
		}
		if !loaded {
			t.Errorf("%s: no link has routes", spec)
		}
	}
}

// crossing are the links of a route before one that it crosses from an end; none if it does not.
func crossing(g *topology.Graph, grid *Grid, from, to topology.DeviceID, over schema.LinkID, tail topology.DeviceID) (before []schema.LinkID) {
	at, crosses := from, false
	grid.EachOnRoute(from, to, func(l schema.LinkID) {
		if crosses {
			return
		}
		if crosses = l == over && at == tail; !crosses {
			before = append(before, l)
		}
		a, b := g.Ends(l)
		if at == a {
			at = b
		} else {
			at = a
		}
	})
	if !crosses {
		return nil
	}
	return before
}
