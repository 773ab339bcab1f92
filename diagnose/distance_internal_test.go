package diagnose

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// The hops from a region are the shortest distance over links between switches, up to the requested number.
func TestReachIsNaive(t *testing.T) {
	for _, spec := range []string{"torus:6x5x4", "fattree:k=4", "dragonfly:groups=5,routers=3,hosts=1"} {
		g := roottest.Graph(t, spec)
		r := newReach(g)
		rapid.Check(t, func(t *rapid.T) {
			links := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, g.NumLinks()-1), func(i int) schema.LinkID { return schema.LinkID(i) }), 1, 6).Draw(t, "links")
			most := rapid.IntRange(0, 4).Draw(t, "most")
			r.from(links, most)
			naive := naiveDistances(g, links)
			for d := range topology.DeviceID(g.NumDevices()) {
				if got, want := r.hopsTo(d), naiveReach(g, naive, d, most); got != want {
					t.Fatalf("%s: %s is %d hops away, want %d", spec, g.Device(d).Name, got, want)
				}
			}
		})
	}
}

// naiveDistances are the distances of the switches to the ends of links over switches, by relaxation, and 0 for hosts
// that are ends.
func naiveDistances(g *topology.Graph, links []schema.LinkID) []int {
	dist := make([]int, g.NumDevices())
	for i := range dist {
		dist[i] = math.MaxInt32
	}
	for _, l := range links {
		a, b := g.Ends(l)
		dist[a], dist[b] = 0, 0
	}
	for range g.NumDevices() {
		for l := range g.NumLinks() {
			a, b := g.Ends(schema.LinkID(l))
			if g.IsSwitch(a) && g.IsSwitch(b) {
				dist[a], dist[b] = min(dist[a], dist[b]+1), min(dist[b], dist[a]+1)
			}
		}
	}
	return dist
}

// naiveReach is the distance of a device: a host is as far as its switch, unless it is an end itself; -1 beyond most.
func naiveReach(g *topology.Graph, dist []int, d topology.DeviceID, most int) int {
	if dist[d] == 0 {
		return 0
	}
	if !g.IsSwitch(d) {
		a, b := g.Ends(g.LinksAt(d)[0])
		if d = b; !g.IsSwitch(b) {
			d = a
		}
	}
	if dist[d] > most {
		return -1
	}
	return dist[d]
}
