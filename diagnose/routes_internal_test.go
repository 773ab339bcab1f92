package diagnose

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

func graphOf(t testing.TB, spec string) *topology.Graph {
	t.Helper()
	g, err := topology.Parse("test", spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// On tori and meshes the loads are those of the simulator's router, pair by pair.
func TestGridRoutesAreThoseOfTheRouter(t *testing.T) {
	for _, spec := range []string{"torus:5x4x6", "mesh:4x5", "torus:7x7"} {
		g := graphOf(t, spec)
		channels := routing.NewChannels(g)
		walker, err := routing.New(channels, routing.Directional)
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			devices := rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(0, g.NumDevices()-1), func(i int) topology.DeviceID { return topology.DeviceID(i) }), 2, 20, rapid.ID).Draw(t, "devices")
			slices.Sort(devices)
			want := make([]float64, g.NumLinks())
			n := float64(len(devices))
			for _, a := range devices {
				for _, b := range devices {
					path, _ := walker.Append(nil, a, b, 0)
					for _, ch := range path {
						want[channels.Link(ch)] += 1 / (n * (n - 1))
					}
				}
			}
			checkLoads(t, newRouter(g).route(devices), want)
		})
	}
}

type failer interface {
	Fatalf(format string, args ...any)
}

func checkLoads(t failer, got *routes, want []float64) {
	for l, load := range want {
		if math.Abs(got.on(schema.LinkID(l))-load) > 1e-5 {
			t.Fatalf("link %d has %v, want %v", l, got.on(schema.LinkID(l)), load)
		}
	}
}

// On trees and dragonflies what each pair sends is spread over all shortest paths, equally at every switch.
func TestTreeRoutesAreAllShortestPaths(t *testing.T) {
	for _, spec := range []string{"fattree:leaves=4,hosts=3,spines=2", "fattree:k=4", "dragonfly:groups=5,routers=2,hosts=2"} {
		g := graphOf(t, spec)
		hosts := g.Hosts()
		rapid.Check(t, func(t *rapid.T) {
			devices := rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(0, len(hosts)-1), func(i int) topology.DeviceID { return hosts[i] }), 2, len(hosts), rapid.ID).Draw(t, "devices")
			slices.Sort(devices)
			want := make([]float64, g.NumLinks())
			n := float64(len(devices))
			for _, b := range devices {
				hops := naiveHops(g, b)
				for _, a := range devices {
					if a != b {
						spreadNaively(g, hops, a, 1/(n*(n-1)), want)
					}
				}
			}
			checkLoads(t, newRouter(g).route(devices), want)
		})
	}
}

// naiveHops is the number of links to a device from every other, by relaxation until nothing changes.
func naiveHops(g *topology.Graph, to topology.DeviceID) []int {
	hops := make([]int, g.NumDevices())
	for d := range hops {
		hops[d] = math.MaxInt32
	}
	hops[to] = 0
	for changed := true; changed; {
		changed = false
		for l := range g.NumLinks() {
			a, b := g.Ends(schema.LinkID(l))
			if hops[b]+1 < hops[a] {
				hops[a], changed = hops[b]+1, true
			}
			if g.Duplex() && hops[a]+1 < hops[b] {
				hops[b], changed = hops[a]+1, true
			}
		}
	}
	return hops
}

func spreadNaively(g *topology.Graph, hops []int, at topology.DeviceID, flow float64, load []float64) {
	if hops[at] == 0 {
		return
	}
	var next []schema.LinkID
	for l := range g.NumLinks() {
		if a, b := g.Ends(schema.LinkID(l)); a == at && hops[b] == hops[at]-1 {
			next = append(next, schema.LinkID(l))
		}
	}
	for _, l := range next {
		load[l] += flow / float64(len(next))
		_, b := g.Ends(l)
		spreadNaively(g, hops, b, flow/float64(len(next)), load)
	}
}

// The hops from a region are the least number of links between switches, and no more than were asked for.
func TestReachIsNaive(t *testing.T) {
	for _, spec := range []string{"torus:6x5x4", "fattree:k=4", "dragonfly:groups=5,routers=3,hosts=1"} {
		g := graphOf(t, spec)
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

// naiveDistances are those of the switches to the ends of links over switches, by relaxation, and 0 for hosts that are
// ends.
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

// naiveReach are the hops to a device: to a host they are those to its switch, unless it is an end itself; -1 beyond most.
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
