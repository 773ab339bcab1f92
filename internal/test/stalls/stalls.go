// Package stalls builds fabrics and paints stalls on their links for tests of segmentation: by boxes, by hops, by the
// names of links' ends, or at random.
package stalls

import (
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// parsed caches the graphs built by Fabric, by specification; graphs are immutable.
var parsed sync.Map

// Fabric returns the graph of a specification.
func Fabric(t testing.TB, spec string) *topology.Graph {
	t.Helper()
	if g, ok := parsed.Load(spec); ok {
		return g.(*topology.Graph)
	}
	g := topologytest.Parse(t, "test", spec)
	parsed.Store(spec, g)
	return g
}

// Snapshot builds a snapshot of the given series; a negative value is missing.
func Snapshot(metrics map[schema.Metric][]float32) *schema.Snapshot {
	snap := &schema.Snapshot{Fabric: "test", Interval: schema.Interval{DurationNanos: 60e9}}
	for m := schema.Metric(0); int(m) < schema.NumMetrics; m++ {
		values, ok := metrics[m]
		if !ok {
			continue
		}
		s := schema.Series{Metric: m, Values: values, Valid: schema.NewBitmap(len(values))}
		for i, v := range values {
			if !(v < 0) {
				s.Valid.Set(i)
				s.Count++
			}
		}
		snap.Links = len(values)
		snap.Series = append(snap.Series, s)
	}
	return snap
}

// PatchyValues are stalls in patches of similar values, with noise and holes.
func PatchyValues(rng *rand.Rand, g *topology.Graph) []float32 {
	values := make([]float32, g.NumLinks())
	for i := range values {
		values[i] = rng.Float32() * 3
	}
	var near []schema.LinkID
	for range 1 + rng.Intn(6) {
		level := 5 + 40*rng.Float32()
		near = append(near[:0], schema.LinkID(rng.Intn(len(values))))
		for i := 0; i < len(near) && i < 1+rng.Intn(8); i++ {
			near = g.AppendNeighbours(near, near[i])
		}
		for _, l := range near {
			values[l] = level + rng.Float32()*4
		}
	}
	for range rng.Intn(1 + len(values)/8) {
		values[rng.Intn(len(values))] = linkset.Missing
	}
	return values
}

// Painting is the stall of each link in percent; negative: missing.
type Painting []float32

// Blank is a fabric without stalls.
func Blank(g *topology.Graph) Painting { return make(Painting, g.NumLinks()) }

// Paint sets the percentage of links, and returns the painting.
func (p Painting) Paint(percent float32, links []schema.LinkID) Painting {
	for _, l := range links {
		p[l] = percent
	}
	return p
}

// Lose marks links as missing.
func (p Painting) Lose(links []schema.LinkID) Painting { return p.Paint(linkset.Missing, links) }

// Noisy adds noise, uniform within amplitude.
func (p Painting) Noisy(amplitude float32, seed int64) Painting {
	rng := rand.New(rand.NewSource(seed))
	out := slices.Clone(p)
	for i, v := range out {
		if v >= 0 {
			out[i] = max(0, v+amplitude*(2*rng.Float32()-1))
		}
	}
	return out
}

// Where sets each link's percentage by a function of the link and its ends, and lists those marked as wanted.
func Where(g *topology.Graph, percent func(id schema.LinkID, from, to *topology.Device) (p float32, wanted bool)) (p Painting, wanted []schema.LinkID) {
	p = Blank(g)
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

// Without is links minus those lost.
func Without(links, lost []schema.LinkID) []schema.LinkID {
	return slices.DeleteFunc(slices.Clone(links), func(l schema.LinkID) bool { return slices.Contains(lost, l) })
}

// Box lists the links that leave the switches of a cuboid in + direction, with
// wraparound.
func Box(g *topology.Graph, origin, size [3]int) []schema.LinkID {
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

// SwitchLinks lists the links at a switch of a grid.
func SwitchLinks(g *topology.Graph, at ...int) []schema.LinkID {
	return g.LinksAt(topology.DeviceID(g.Grid().Number(at)))
}

// Blob is the first n links of a breadth-first walk across switches, avoiding some.
func Blob(g *topology.Graph, first schema.LinkID, n int, avoid ...schema.LinkID) []schema.LinkID {
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

// Farthest is the last link of a walk from the first.
func Farthest(g *topology.Graph, first schema.LinkID) schema.LinkID {
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

// Add raises links by percent, with noise of the given sigma.
func (p Painting) Add(percent, sigma float32, links []schema.LinkID, seed int64) Painting {
	rng := rand.New(rand.NewSource(seed))
	for _, l := range links {
		p[l] = max(0, percent+sigma*float32(rng.NormFloat64()))
	}
	return p
}

// Wavy is a calm fabric with the noise of real counters, truncated at 0.
func Wavy(g *topology.Graph, seed int64) Painting {
	p, rng := Blank(g), rand.New(rand.NewSource(seed))
	for l := range p {
		p[l] = max(0, 1.5+1.5*float32(rng.NormFloat64()))
	}
	return p
}

// LinkRange is the links from from to to, exclusive.
func LinkRange(from, to int) []schema.LinkID {
	var links []schema.LinkID
	for l := from; l < to; l++ {
		links = append(links, schema.LinkID(l))
	}
	return links
}

// Smaller is a smaller topology of the same kind, for slow tests.
func Smaller(spec string) string {
	if strings.HasPrefix(spec, "torus") {
		return "torus:12x12x12"
	}
	return "fattree:k=8"
}

// GridTree is the links of dimension-ordered routes to a switch from those of a plane through it, x before y:
// a column, and a row through each of its switches.
func GridTree(g *topology.Graph, root [3]int, reach int) (column []schema.LinkID, rows [][]schema.LinkID) {
	along := func(from [3]int, dim, length int) []schema.LinkID {
		from[dim] -= reach
		size := [3]int{1, 1, 1}
		size[dim] = length
		var links []schema.LinkID
		for _, l := range Box(g, from, size) {
			if int(l)%3 == dim {
				links = append(links, l)
			}
		}
		return links
	}
	for y := root[1] - reach; y <= root[1]+reach; y++ {
		rows = append(rows, along([3]int{root[0], y, root[2]}, 0, 2*reach))
	}
	return along(root, 1, 2*reach), rows
}
