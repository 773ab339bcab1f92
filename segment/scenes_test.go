package segment

import (
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// box lists the links that leave the switches of a cuboid in + direction,
// wrapping.
func box(g *topology.Graph, origin, size [3]int) []schema.LinkID {
	var links []schema.LinkID
	dims := g.Grid().Dims
	for id := range schema.LinkID(g.NumLinks()) {
		from, _ := g.Ends(id)
		inside := true
		for i, x := range g.Device(from).Coord {
			inside = inside && (x-origin[i]+dims[i])%dims[i] < size[i]
		}
		if inside {
			links = append(links, id)
		}
	}
	return links
}

// switchLinks lists the links at the switch of a grid.
func switchLinks(g *topology.Graph, at ...int) []schema.LinkID {
	return g.LinksAt(topology.DeviceID(g.Grid().Number(at)))
}

// blob is the n links that a walk across switches comes to first, without
// those to avoid.
func blob(g *topology.Graph, first schema.LinkID, n int, avoid ...schema.LinkID) []schema.LinkID {
	seen := map[schema.LinkID]bool{first: true}
	for _, l := range avoid {
		seen[l] = true
	}
	links := []schema.LinkID{first}
	for i := 0; i < len(links) && len(links) < n; i++ {
		for _, l := range g.AppendNeighbours(nil, links[i]) {
			if len(links) < n && !seen[l] {
				seen[l] = true
				links = append(links, l)
			}
		}
	}
	slices.Sort(links)
	return links
}

// farthest is the last link that a walk from the first comes to.
func farthest(g *topology.Graph, first schema.LinkID) schema.LinkID {
	seen := map[schema.LinkID]bool{first: true}
	links := []schema.LinkID{first}
	for i := 0; i < len(links); i++ {
		for _, l := range g.AppendNeighbours(nil, links[i]) {
			if !seen[l] {
				seen[l] = true
				links = append(links, l)
			}
		}
	}
	return links[len(links)-1]
}

// painting is stalls in the making; a negative one is missing.
type painting []float32

func blank(g *topology.Graph) painting { return make(painting, g.NumLinks()) }

func (p painting) paint(percent float32, links []schema.LinkID) painting {
	for _, l := range links {
		p[l] = percent
	}
	return p
}

// paintWhere gives each link the percentage that a function says of it and its ends, and lists those that are wanted.
func paintWhere(g *topology.Graph, percent func(id schema.LinkID, from, to *topology.Device) (p float32, wanted bool)) (p painting, wanted []schema.LinkID) {
	p = blank(g)
	for l := range p {
		id := schema.LinkID(l)
		from, to := g.Ends(id)
		var is bool
		if p[l], is = percent(id, g.Device(from), g.Device(to)); is {
			wanted = append(wanted, id)
		}
	}
	return p, wanted
}

func (p painting) lose(links []schema.LinkID) painting { return p.paint(missing, links) }

// noisy adds noise that is uniform within amplitude.
func (p painting) noisy(amplitude float32, seed int64) painting {
	rng := rand.New(rand.NewSource(seed))
	out := slices.Clone(p)
	for i, v := range out {
		if v >= 0 {
			out[i] = max(0, v+amplitude*(2*rng.Float32()-1))
		}
	}
	return out
}

func without(links, lost []schema.LinkID) []schema.LinkID {
	return slices.DeleteFunc(slices.Clone(links), func(l schema.LinkID) bool { return slices.Contains(lost, l) })
}

// scene is a painting and the regions in it.
type scene struct {
	name   string
	graph  *topology.Graph
	values painting
	want   [][]schema.LinkID

	directed bool // for methods that follow back pressure; others see its links without their direction
}

// scenes are what every method must see alike.
func scenes(t testing.TB) []scene {
	g := parse(t, "torus:10x10x10")
	tiny := parse(t, "torus:6x6x6")
	all := box(tiny, [3]int{}, [3]int{6, 6, 6})
	low, high := box(g, [3]int{2, 2, 2}, [3]int{3, 4, 4}), box(g, [3]int{5, 2, 2}, [3]int{3, 4, 4})
	corner := box(g, [3]int{8, 9, 7}, [3]int{4, 3, 5})
	cube := box(g, [3]int{3, 3, 3}, [3]int{4, 4, 4})
	pencil := box(g, [3]int{4, 4, 0}, [3]int{1, 1, 9})
	link := cube[len(cube)/2 : len(cube)/2+1]
	node := switchLinks(g, 5, 5, 5)
	blade := slices.Concat(node, switchLinks(g, 5, 5, 4))
	tinyBlade := slices.Concat(switchLinks(tiny, 3, 3, 3), switchLinks(tiny, 3, 3, 2))
	across := switchLinks(g, 4, 4, 4)
	out := []scene{
		{name: "all calm", graph: g, values: blank(g)},
		{name: "all hot", graph: tiny, values: blank(tiny).paint(40, all), want: [][]schema.LinkID{all}},
		{name: "all hot, missing blade", graph: tiny, values: blank(tiny).paint(40, all).lose(tinyBlade), want: [][]schema.LinkID{without(all, tinyBlade)}},
		{name: "all at the most", graph: tiny, values: blank(tiny).paint(100, all), want: [][]schema.LinkID{all}},
		{name: "all missing", graph: tiny, values: blank(tiny).lose(all)},
		{name: "one measured", graph: tiny, values: blank(tiny).lose(all).paint(90, all[7:8])},
		{name: "negligible", graph: g, values: blank(g).paint(4, cube)},
		{name: "wrapping", graph: g, values: blank(g).paint(30, corner), want: [][]schema.LinkID{corner}},
		{name: "touching", graph: g, values: blank(g).paint(10, low).paint(45, high), want: [][]schema.LinkID{low, high}},
		{name: "missing link", graph: g, values: blank(g).paint(30, cube).lose(link), want: [][]schema.LinkID{without(cube, link)}},
		{name: "missing switch", graph: g, values: blank(g).paint(30, cube).lose(node), want: [][]schema.LinkID{without(cube, node)}},
		{name: "missing blade", graph: g, values: blank(g).paint(30, cube).lose(blade), want: [][]schema.LinkID{without(cube, blade)}},
		{name: "missing waist", graph: g, values: blank(g).paint(30, pencil).lose(across), want: [][]schema.LinkID{without(pencil, across)}},
	}
	for n := geminiMinLinks - 1; n <= geminiMinLinks+1; n++ {
		small := blob(g, 1234, n)
		s := scene{name: fmt.Sprintf("%d links", n), graph: g, values: blank(g).paint(30, small)}
		if n >= geminiMinLinks {
			s.want = [][]schema.LinkID{small}
		}
		out = append(out, s)
	}
	for _, spec := range []string{"torus:30x30", "torus:200", "mesh:8x9x10", "fattree:k=8", "fattree:leaves=8,hosts=8,spines=8", "dragonfly:groups=9,routers=4,hosts=4"} {
		g := parse(t, spec)
		out = append(out, blobs(spec, g))
	}
	return append(out, blobs("irregular", irregular(t)))
}

// blobs is a blob of links at each end of a fabric, which may touch.
func blobs(name string, g *topology.Graph) scene {
	a := blob(g, 0, 40)
	b := blob(g, farthest(g, 0), 30, a...)
	return scene{name: name, graph: g, values: blank(g).paint(35, a).paint(12, b), want: [][]schema.LinkID{a, b}}
}

// treeScenes are congestion trees on fabrics whose links have directions.
func treeScenes(t testing.TB) []scene {
	var out []scene
	for _, spec := range []string{"fattree:k=8", "fattree:leaves=8,hosts=8,spines=8", "dragonfly:groups=9,routers=4,hosts=4"} {
		out = append(out, twoTrees(spec, parse(t, spec)))
	}
	return append(out, twoTrees("irregular", irregular(t)))
}

// twoTrees are the congestion trees of the first host and of the last, three hops deep, the second without a
// link that is not measured.
func twoTrees(name string, g *topology.Graph) scene {
	hosts := slices.DeleteFunc(g.Hosts(), func(h topology.DeviceID) bool { return len(g.LinksAt(h)) < 2 })
	values := blank(g)
	hops := 3
	if strings.HasPrefix(name, "dragonfly") {
		hops = 2 // three lead from any group into any other
	}
	a := values.growTree(g, hosts[0], []float32{60, 45, 33}[:hops])
	b := values.growTree(g, hosts[len(hosts)-1], []float32{50, 40, 30}[:hops])
	lost := b[len(b)-1:]
	return scene{name: name + " trees", graph: g, values: values.lose(lost), want: [][]schema.LinkID{a, without(b, lost)}, directed: true}
}

// growTree paints a tree upstream of a host, without what the other already has, by hop.
func (p painting) growTree(g *topology.Graph, host topology.DeviceID, stalls []float32) []schema.LinkID {
	w := newWaits(g)
	var links, layer []schema.LinkID
	for _, l := range w.in.of(int32(host)) {
		layer = append(layer, schema.LinkID(l))
	}
	for _, stall := range stalls {
		var next []schema.LinkID
		for _, l := range layer {
			if p[l] > 0 {
				continue
			}
			p[l] = stall
			links = append(links, l)
			for _, k := range w.in.of(w.from[l]) {
				if w.isSwitch[w.from[l]] && w.mayWait(k, int32(l)) {
					next = append(next, schema.LinkID(k))
				}
			}
		}
		layer = next
	}
	slices.Sort(links)
	return links
}

// irregular is a fat tree as machines have them: hosts on some leaves only,
// cables missing here and there, some links down.
func irregular(t testing.TB) *topology.Graph {
	t.Helper()
	whole, rng := parse(t, "fattree:leaves=40,hosts=16,spines=12"), rand.New(rand.NewSource(5))
	b := topology.NewBuilder("irregular")
	for d := range topology.DeviceID(whole.NumDevices()) {
		b.Device(*whole.Device(d))
	}
	for id := range schema.LinkID(whole.NumLinks()) {
		l := whole.Link(id)
		missing := l.Class == topology.ClassHost && whole.Device(l.From).Group%5 == 4 || rng.Intn(20) == 0
		if l.From < l.To && !missing {
			b.Both(l)
		}
	}
	all, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	next := topology.NewVersion(all)
	for id := range schema.LinkID(all.NumLinks()) {
		if rng.Intn(50) > 0 {
			next.Link(all.Link(id))
		}
	}
	g, err := next.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func readIBNetDiscover(t testing.TB, path string) *topology.Graph {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, _, err := topology.ReadIBNetDiscover(f, path, "ib0", nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
