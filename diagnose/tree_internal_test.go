package diagnose

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
		g, err := topology.Parse("t", spec)
		if err != nil {
			t.Fatal(err)
		}
		grid, h := newRouter(g).grid, newHeld(g)
		for range 50 {
			end, want := topology.DeviceID(rng.IntN(g.NumDevices())), make([]float64, g.NumLinks())
			for range 1 + rng.IntN(20) {
				from, routes := topology.DeviceID(rng.IntN(g.NumDevices())), float64(1+rng.IntN(3))
				h.send(grid.numbers[from], routes)
				grid.eachOnRoute(from, end, func(l schema.LinkID) { want[l] += routes })
			}
			grid.converge(end, len(grid.grid.Dims), &h)
			if !slices.Equal(h.load, want) {
				t.Fatalf("%s to %s: loads\n%v, want\n%v", spec, g.Device(end).Name, h.load, want)
			}
			clear(h.load)
			h.touched = h.touched[:0]
		}
	}
}

// A stalled link waits for the one of two full ones that most of its routes go on over; more so, the more waits there.
func TestALinkIsClaimedByWhatItWaitsFor(t *testing.T) {
	g, err := topology.Parse("t", "torus:8x8")
	if err != nil {
		t.Fatal(err)
	}
	h, links := newHeld(g), []schema.LinkID{3, 5, 9}
	stall := schema.Series{Metric: schema.CreditStall, Values: make([]float32, g.NumLinks()), Valid: schema.NewBitmap(g.NumLinks())}
	for _, l := range links {
		stall.Values[l] = 40
		stall.Valid.Set(int(l))
	}
	p := &pressure{graph: g, stall: &stall, before: func(schema.LinkID) float64 { return -1 }}
	for _, c := range []struct {
		urgency [2]float64
		want    float64 // share of the first
	}{{[2]float64{.5, .5}, 2. / 3}, {[2]float64{.5, .1}, 1}, {[2]float64{.1, .9}, 0}} {
		h.take(links, p)
		h.resetClaims()
		for i, routes := range [2]map[schema.LinkID]float64{{3: 4, 5: 4, 9: 2}, {3: 1, 5: 2, 9: 6, 11: 50}} {
			h.claimant, h.urgency = i, c.urgency[i]
			for _, l := range []schema.LinkID{3, 5, 9, 11} {
				if n := routes[l]; n > 0 {
					h.add(l, n)
				}
			}
			h.claim(p)
		}
		if h.countClaims(); h.share(0) != c.want || h.share(0)+h.share(1) != 1 {
			t.Errorf("urgency %v: shares %v and %v, want %v", c.urgency, h.share(0), h.share(1), c.want)
		}
	}
}

// Jobs on the same devices share their routes; one whose devices change has its own.
func TestJobsOnTheSameDevicesShareRoutes(t *testing.T) {
	g, err := topology.Parse("t", "torus:8x8")
	if err != nil {
		t.Fatal(err)
	}
	r := newRouter(g)
	devices := []topology.DeviceID{1, 2, 9}
	first := r.shared(devices)
	if r.shared([]topology.DeviceID{1, 2, 9}) != first {
		t.Error("found again")
	}
	devices[2] = 30
	if again := r.shared(devices); again == first || slices.Equal(again.links, first.links) {
		t.Error("routes of other devices")
	}
	for i := range maxKnown + 1 {
		r.shared([]topology.DeviceID{topology.DeviceID(i % 60), topology.DeviceID(i%60 + 1 + i/600)})
	}
	if len(r.known) > maxKnown {
		t.Errorf("%d are kept", len(r.known))
	}
}

// What is counted of a passage is what following its routes one by one gives.
func TestPassagesAreCountedAsTheyAreFollowed(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, spec := range []string{"torus:6x5x4", "torus:8x7", "torus:2x3x2", "mesh:5x4x3"} {
		g, err := topology.Parse("t", spec)
		if err != nil {
			t.Fatal(err)
		}
		r := newRouter(g)
		grid, h, loaded := r.grid, newHeld(g), 0
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
			grid.upstream(job, tail, l, &h)
			pass := grid.passageOf(job, l, tail, &h)
			for before := range schema.LinkID(g.NumLinks()) {
				if got := grid.over(&pass, before); got != h.load[before] {
					t.Fatalf("%s, %d nodes, link %d from %s: %v routes over link %d, want %v", spec, len(devices), l, g.Device(tail).Name, got, before, h.load[before])
				}
				if h.load[before] > 0 {
					loaded++
				}
			}
			clear(h.load)
			h.touched = h.touched[:0]
		}
		if loaded == 0 {
			t.Errorf("%s: no link has routes", spec)
		}
	}
}
