package routes

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

func graphOf(t testing.TB, spec string) *topology.Graph {
	t.Helper()
	g, err := topology.Parse("test", spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// On tori and meshes the loads match the simulator's router, pair by pair.
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
			checkLoads(t, NewRouter(g).route(devices), want)
		})
	}
}

type failer interface {
	Fatalf(format string, args ...any)
}

func checkLoads(t failer, got *Set, want []float64) {
	for l, load := range want {
		if math.Abs(got.On(schema.LinkID(l))-load) > 1e-5 {
			t.Fatalf("link %d has %v, want %v", l, got.On(schema.LinkID(l)), load)
		}
	}
}

// On trees and dragonflies, and where hosts have a port in each rail or plane, the traffic of each pair is split over all
// shortest paths, equally at every device.
func TestTreeRoutesAreAllShortestPaths(t *testing.T) {
	graphs := []*topology.Graph{topologytest.Rails(t, 3, 2, 2, false), topologytest.Rails(t, 2, 3, 4, true)}
	for _, spec := range []string{"fattree:leaves=4,hosts=3,spines=2", "fattree:k=4", "dragonfly:groups=5,routers=2,hosts=2"} {
		graphs = append(graphs, graphOf(t, spec))
	}
	for _, g := range graphs {
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
			checkLoads(t, NewRouter(g).route(devices), want)
		})
	}
}

// naiveHops is the number of links from every device to one, by relaxation until nothing changes.
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

// Jobs on the same devices share cached routes; a job on other devices does not.
func TestJobsOnTheSameDevicesShareRoutes(t *testing.T) {
	g := graphOf(t, "torus:8x8")
	r := NewRouter(g)
	devices := []topology.DeviceID{1, 2, 9}
	first := r.Of(devices)
	if r.Of([]topology.DeviceID{1, 2, 9}) != first {
		t.Error("found again")
	}
	devices[2] = 30
	if again := r.Of(devices); again == first || slices.Equal(again.Links, first.Links) {
		t.Error("routes of other devices")
	}
	for i := range maxKnown + 1 {
		r.Of([]topology.DeviceID{topology.DeviceID(i % 60), topology.DeviceID(i%60 + 1 + i/600)})
	}
	if len(r.known) > maxKnown {
		t.Errorf("%d are kept", len(r.known))
	}
}
