package segment_test

import (
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/topology"
)

// scene is a painting with its regions.
type scene struct {
	name   string
	graph  *topology.Graph
	values stalls.Painting
	want   [][]schema.LinkID

	directed bool // for methods that follow back pressure; others see its links as undirected
}

// scenes are paintings in which all methods must find the same.
func scenes(t testing.TB) []scene {
	g := stalls.Fabric(t, "torus:10x10x10")
	tiny := stalls.Fabric(t, "torus:6x6x6")
	all := stalls.Box(tiny, [3]int{}, [3]int{6, 6, 6})
	low, high := stalls.Box(g, [3]int{2, 2, 2}, [3]int{3, 4, 4}), stalls.Box(g, [3]int{5, 2, 2}, [3]int{3, 4, 4})
	corner := stalls.Box(g, [3]int{8, 9, 7}, [3]int{4, 3, 5})
	cube := stalls.Box(g, [3]int{3, 3, 3}, [3]int{4, 4, 4})
	pencil := stalls.Box(g, [3]int{4, 4, 0}, [3]int{1, 1, 9})
	link := cube[len(cube)/2 : len(cube)/2+1]
	node := stalls.SwitchLinks(g, 5, 5, 5)
	blade := slices.Concat(node, stalls.SwitchLinks(g, 5, 5, 4))
	tinyBlade := slices.Concat(stalls.SwitchLinks(tiny, 3, 3, 3), stalls.SwitchLinks(tiny, 3, 3, 2))
	across := stalls.SwitchLinks(g, 4, 4, 4)
	out := []scene{
		{name: "all calm", graph: g, values: stalls.Blank(g)},
		{name: "all hot", graph: tiny, values: stalls.Blank(tiny).Paint(40, all), want: [][]schema.LinkID{all}},
		{name: "all hot, missing blade", graph: tiny, values: stalls.Blank(tiny).Paint(40, all).Lose(tinyBlade), want: [][]schema.LinkID{stalls.Without(all, tinyBlade)}},
		{name: "all at the most", graph: tiny, values: stalls.Blank(tiny).Paint(100, all), want: [][]schema.LinkID{all}},
		{name: "all missing", graph: tiny, values: stalls.Blank(tiny).Lose(all)},
		{name: "one measured", graph: tiny, values: stalls.Blank(tiny).Lose(all).Paint(90, all[7:8])},
		{name: "negligible", graph: g, values: stalls.Blank(g).Paint(4, cube)},
		{name: "wrapping", graph: g, values: stalls.Blank(g).Paint(30, corner), want: [][]schema.LinkID{corner}},
		{name: "touching", graph: g, values: stalls.Blank(g).Paint(10, low).Paint(45, high), want: [][]schema.LinkID{high, low}},
		{name: "missing link", graph: g, values: stalls.Blank(g).Paint(30, cube).Lose(link), want: [][]schema.LinkID{stalls.Without(cube, link)}},
		{name: "missing switch", graph: g, values: stalls.Blank(g).Paint(30, cube).Lose(node), want: [][]schema.LinkID{stalls.Without(cube, node)}},
		{name: "missing blade", graph: g, values: stalls.Blank(g).Paint(30, cube).Lose(blade), want: [][]schema.LinkID{stalls.Without(cube, blade)}},
		{name: "missing waist", graph: g, values: stalls.Blank(g).Paint(30, pencil).Lose(across), want: [][]schema.LinkID{stalls.Without(pencil, across)}},
	}
	for n := segment.GeminiMinLinks - 1; n <= segment.GeminiMinLinks+1; n++ {
		small := stalls.Blob(g, 1234, n)
		s := scene{name: fmt.Sprintf("%d links", n), graph: g, values: stalls.Blank(g).Paint(30, small)}
		if n >= segment.GeminiMinLinks {
			s.want = [][]schema.LinkID{small}
		}
		out = append(out, s)
	}
	for _, spec := range []string{"torus:30x30", "torus:200", "mesh:8x9x10", "fattree:k=8", "fattree:leaves=8,hosts=8,spines=8", "dragonfly:groups=9,routers=4,hosts=4"} {
		g := stalls.Fabric(t, spec)
		out = append(out, blobs(spec, g))
	}
	return append(out, blobs("irregular", irregular(t)))
}

// blobs is a blob of links at each end of a fabric, which may touch.
func blobs(name string, g *topology.Graph) scene {
	a := stalls.Blob(g, 0, 40)
	b := stalls.Blob(g, stalls.Farthest(g, 0), 30, a...)
	return scene{name: name, graph: g, values: stalls.Blank(g).Paint(35, a).Paint(12, b), want: [][]schema.LinkID{a, b}}
}

// treeScenes are congestion trees on fabrics with directed links.
func treeScenes(t testing.TB) []scene {
	var out []scene
	for _, spec := range []string{"fattree:k=8", "fattree:leaves=8,hosts=8,spines=8", "dragonfly:groups=9,routers=4,hosts=4"} {
		out = append(out, twoTrees(spec, stalls.Fabric(t, spec)))
	}
	return append(out, twoTrees("irregular", irregular(t)))
}

// twoTrees are the congestion trees of the first and the last host, three hops deep, the second with a
// missing link.
func twoTrees(name string, g *topology.Graph) scene {
	hosts := slices.DeleteFunc(g.Hosts(), func(h topology.DeviceID) bool { return len(g.LinksAt(h)) < 2 })
	values := stalls.Blank(g)
	hops := 3
	if strings.HasPrefix(name, "dragonfly") {
		hops = 2 // three hops lead from any group into any other
	}
	a := growTree(values, g, hosts[0], []float32{60, 45, 33}[:hops])
	b := growTree(values, g, hosts[len(hosts)-1], []float32{50, 40, 30}[:hops])
	lost := b[len(b)-1:]
	return scene{name: name + " trees", graph: g, values: values.Lose(lost), want: [][]schema.LinkID{a, stalls.Without(b, lost)}, directed: true}
}

// growTree paints a tree upstream of a host, by hop, without links of the other tree.
func growTree(p stalls.Painting, g *topology.Graph, host topology.DeviceID, stalls []float32) []schema.LinkID {
	layer := linksInto(g, host)
	var links []schema.LinkID
	for _, stall := range stalls {
		var next []schema.LinkID
		for _, l := range layer {
			if p[l] > 0 {
				continue
			}
			p[l] = stall
			links = append(links, l)
			if from, _ := g.Ends(l); g.IsSwitch(from) {
				next = append(next, slices.DeleteFunc(linksInto(g, from), func(k schema.LinkID) bool { return !goesOn(g, k, l) })...)
			}
		}
		layer = next
	}
	slices.Sort(links)
	return links
}

func linksInto(g *topology.Graph, device topology.DeviceID) (into []schema.LinkID) {
	for _, l := range g.LinksAt(device) {
		if _, to := g.Ends(l); to == device {
			into = append(into, l)
		}
	}
	return into
}

// goesOn reports whether traffic of link a may continue on link b: not back, not down a tree and up again, and not through
// a third switch of its level to one that it has a cable to.
func goesOn(g *topology.Graph, a, b schema.LinkID) bool {
	from, via := g.Ends(a)
	_, to := g.Ends(b)
	u, v, x := g.Device(from).Level, g.Device(via).Level, g.Device(to).Level
	if from == to || u > v && x > v {
		return false
	}
	return u != v || v != x || !slices.ContainsFunc(linksInto(g, to), func(l schema.LinkID) bool { k, _ := g.Ends(l); return k == from })
}

// irregular is a fat tree like that of real machines: hosts on some leaves only, some
// cables missing, some links down.
func irregular(t testing.TB) *topology.Graph {
	t.Helper()
	whole, rng := stalls.Fabric(t, "fattree:leaves=40,hosts=16,spines=12"), rand.New(rand.NewSource(5))
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
