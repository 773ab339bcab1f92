package routes

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Routes led to a switch together load the same links as when followed one by one.
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

// Counting the routes of a passage gives the same loads as following them one by one.
func TestPassagesAreCountedAsTheyAreFollowed(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, spec := range []string{"torus:6x5x4", "torus:8x7", "torus:2x3x2", "mesh:5x4x3"} {
		g := graphOf(t, spec)
		r := NewRouter(g)
		grid, tree, loaded := r.Grid, r.Grid.NewInTree(), 0
		for range 200 {
			var devices []topology.DeviceID
			for d := range topology.DeviceID(g.NumDevices()) {
				if rng.IntN(3) == 0 {
					devices = append(devices, d)
				}
			}
			l, job := schema.LinkID(rng.IntN(g.NumLinks())), r.route(devices)
			tail, far := g.Ends(l)
			if rng.IntN(2) == 0 {
				tail = far
			}
			tree.Upstream(job, l, tail, nil)
			pass := grid.Passage(job, l, tail)
			for before := range schema.LinkID(g.NumLinks()) {
				if got := pass.Over(before); got != tree.Load[before] {
					t.Fatalf("%s, %d nodes, link %d from %s: %v routes over link %d, want %v", spec, len(devices), l, g.Device(tail).Name, got, before, tree.Load[before])
				}
				if tree.Load[before] > 0 {
					loaded++
				}
			}
			tree.Reset()
		}
		if loaded == 0 {
			t.Errorf("%s: no link has routes", spec)
		}
	}
}
