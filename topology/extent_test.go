package topology_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// span is how many switches an interval of a ring holds.
func span(lo, hi, n int) int { return (hi-lo+n)%n + 1 }

// The box against a search over all boxes.
func TestBoundingBoxIsSmallest(t *testing.T) {
	for _, spec := range []string{"torus:5x4x7", "mesh:5x4x7", "torus:2x3"} {
		g := parse(t, spec)
		dims := g.Grid().Dims
		rapid.Check(t, func(t *rapid.T) {
			ids := rapid.SliceOfN(rapid.IntRange(0, g.NumLinks()-1), 1, 8).Draw(t, "links")
			links := make([]schema.LinkID, len(ids))
			for i, id := range ids {
				links[i] = schema.LinkID(id)
			}
			box := g.BoundingBox(links)
			for d, n := range dims {
				holds := func(lo, hi int) bool {
					for _, l := range links {
						for _, at := range ends(g, l, d) {
							if (at-lo+n)%n >= span(lo, hi, n) {
								return false
							}
						}
					}
					return true
				}
				if !holds(box.Min[d], box.Max[d]) {
					t.Fatalf("%s: box %v does not hold %v", spec, box, links)
				}
				for lo := range n {
					for hi := range n {
						if (g.Grid().Wrap || lo <= hi) && holds(lo, hi) && span(lo, hi, n) < span(box.Min[d], box.Max[d], n) {
							t.Fatalf("%s: dimension %d: %d-%d is shorter than %v", spec, d, lo, hi, box)
						}
					}
				}
			}
		})
	}
}

func ends(g *topology.Graph, l schema.LinkID, dim int) [2]int {
	from, to := g.Ends(l)
	return [2]int{g.Device(from).Coord[dim], g.Device(to).Coord[dim]}
}

func TestDescribe(t *testing.T) {
	torus, tree2, tree3 := parse(t, "torus:24x24x24"), parse(t, "fattree:leaves=8,hosts=4,spines=4"), parse(t, "fattree:k=4")
	touching := func(g *topology.Graph, devices ...string) (links []schema.LinkID) {
		for _, name := range devices {
			d, ok := g.FindDevice(name)
			if !ok {
				t.Fatal(name)
			}
			links = append(links, g.LinksAt(d)...)
		}
		return links
	}
	egress := func(g *topology.Graph, device, port string) schema.LinkID {
		p, ok := g.FindPort(device, port)
		if !ok {
			t.Fatal(device, port)
		}
		return p.Egress
	}
	for _, c := range []struct {
		g     *topology.Graph
		links []schema.LinkID
		want  string
	}{
		{torus, []schema.LinkID{egress(torus, "23,5,5", "X+"), egress(torus, "23,5,5", "Y+")}, "(23,5,5) 2x2x1"},
		{tree2, []schema.LinkID{egress(tree2, "host5", "1")}, "leaf1"},
		{tree2, []schema.LinkID{egress(tree2, "leaf3", "5")}, "leaf3, spine0"},
		{tree2, touching(tree2, "spine0", "spine1"), "leaf0-7, spine0-1"},
		{tree3, []schema.LinkID{egress(tree3, "leaf2-0", "3"), egress(tree3, "leaf2-1", "3")}, "pod 2"},
		{tree3, nil, "nowhere"},
	} {
		if got := c.g.Describe(c.links); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
