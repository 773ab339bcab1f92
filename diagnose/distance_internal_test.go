package diagnose

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// The hops from a region are the shortest distance over links between switches, up to the requested number; a host joins
// the switches that it has ports to as a link does.
func TestReachIsNaive(t *testing.T) {
	graphs := map[string]*topology.Graph{"rails": topologytest.Rails(t, 3, 3, 2, false), "planes": topologytest.Rails(t, 4, 3, 2, true)}
	for _, spec := range []string{"torus:6x5x4", "fattree:k=4", "dragonfly:groups=5,routers=3,hosts=1"} {
		graphs[spec] = roottest.Graph(t, spec)
	}
	for spec, g := range graphs {
		r := newReach(g, routes.NewRouter(g))
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
	relax := func(a, b topology.DeviceID) {
		dist[a], dist[b] = min(dist[a], dist[b]+1), min(dist[b], dist[a]+1)
	}
	for range g.NumDevices() {
		for l := range g.NumLinks() {
			if a, b := g.Ends(schema.LinkID(l)); g.IsSwitch(a) && g.IsSwitch(b) {
				relax(a, b)
			}
		}
		for _, h := range g.Hosts() {
			for _, a := range switchesOf(g, h) {
				for _, b := range switchesOf(g, h) {
					relax(a, b)
				}
			}
		}
	}
	return dist
}

// switchesOf are the switches that a host has ports to; on grids nodes are switches.
func switchesOf(g *topology.Graph, host topology.DeviceID) (switches []topology.DeviceID) {
	for _, l := range g.LinksAt(host) {
		if a, b := g.Ends(l); a == host && !g.IsSwitch(host) {
			switches = append(switches, b)
		}
	}
	return switches
}

// naiveReach is the distance of a device: a host is as far as its nearest switch, unless it is an end itself; -1 beyond
// most.
func naiveReach(g *topology.Graph, dist []int, d topology.DeviceID, most int) int {
	hops := dist[d]
	if hops > 0 && !g.IsSwitch(d) {
		for _, at := range switchesOf(g, d) {
			hops = min(hops, dist[at])
		}
	}
	if hops > most {
		return -1
	}
	return hops
}
