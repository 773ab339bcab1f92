package monet_test

import (
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/topology"
)

// naive is a literal implementation of the paper's definition on a distance matrix. It
// is slow and obviously right.
type naive struct {
	distance [][]int
	cfg      segment.Config
}

func newNaive(g *topology.Graph, cfg segment.Config) *naive {
	n := &naive{cfg: cfg}
	if g.Grid() == nil {
		n.distance = switchDistances(g)
		return n
	}
	for a := range g.NumLinks() {
		row := make([]int, g.NumLinks())
		for b := range row {
			row[b] = g.L1(schema.LinkID(a), schema.LinkID(b))
		}
		n.distance = append(n.distance, row)
	}
	return n
}

// switchDistances counts switches between links with the Floyd-Warshall algorithm.
func switchDistances(g *topology.Graph) [][]int {
	const far = 1 << 20
	d := make([][]int, g.NumDevices())
	for i := range d {
		d[i] = slices.Repeat([]int{far}, len(d))
		d[i][i] = 0
	}
	isSwitch := func(x topology.DeviceID) bool { return g.IsSwitch(x) }
	for l := range g.NumLinks() {
		if a, b := g.Ends(schema.LinkID(l)); isSwitch(a) && isSwitch(b) && a != b {
			d[a][b], d[b][a] = 1, 1
		}
	}
	for k := range d {
		for i := range d {
			for j := range d {
				d[i][j] = min(d[i][j], d[i][k]+d[k][j])
			}
		}
	}
	out := make([][]int, g.NumLinks())
	for x := range out {
		out[x] = slices.Repeat([]int{far}, g.NumLinks())
		x0, x1 := g.Ends(schema.LinkID(x))
		for y := range out[x] {
			y0, y1 := g.Ends(schema.LinkID(y))
			for _, p := range [][2]topology.DeviceID{{x0, y0}, {x0, y1}, {x1, y0}, {x1, y1}} {
				if isSwitch(p[0]) && isSwitch(p[1]) {
					out[x][y] = min(out[x][y], d[p[0]][p[1]]+1)
				}
			}
		}
		out[x][x] = 0
	}
	return out
}

func (n *naive) regions(values []float32) [][]schema.LinkID {
	var measured []int
	for i, v := range values {
		if v >= 0 {
			measured = append(measured, i)
		}
	}
	near := func(a, b int) bool { return n.distance[a][b] <= n.cfg.Paper.Distance }
	// Stage 1.
	regions := closure(len(values), measured, func(a, b int) bool {
		return near(a, b) && abs32(values[a]-values[b]) <= float32(n.cfg.Paper.PointPercent)
	})
	// Stage 2.
	var all []int
	for i := range regions {
		all = append(all, i)
	}
	means := meansOf(regions, values)
	classes := closure(len(regions), all, func(a, b int) bool {
		return n.regionDistance(regions[a], regions[b]) <= n.cfg.Paper.Distance &&
			abs32(float32(means[a])-float32(means[b])) <= float32(n.cfg.Paper.RegionPercent)
	})
	var merged [][]int
	for _, class := range classes {
		var links []int
		for _, r := range class {
			links = append(links, regions[r]...)
		}
		slices.Sort(links)
		merged = append(merged, links)
	}
	return n.dropSmall(n.absorb(merged, values), values)
}

// absorb is stage 3.
func (n *naive) absorb(regions [][]int, values []float32) [][]int {
	means := meansOf(regions, values)
	out := make([][]int, len(regions))
	for i, r := range regions {
		out[i] = slices.Clone(r)
	}
	for i, r := range regions {
		if len(r) >= n.cfg.MinLinks {
			continue
		}
		best := -1
		var bestKey [3]float64
		for j, s := range regions {
			if len(s) < n.cfg.MinLinks {
				continue
			}
			d := n.regionDistance(r, s)
			if d > n.cfg.Paper.Distance {
				continue
			}
			key := [3]float64{float64(d), math.Abs(means[i] - means[j]), float64(slices.Min(s))}
			if best < 0 || slices.Compare(key[:], bestKey[:]) < 0 {
				best, bestKey = j, key
			}
		}
		if best >= 0 {
			out[best] = append(out[best], r...)
			out[i] = nil
		}
	}
	return out
}

// dropSmall is stage 4, and drops negligible regions.
func (n *naive) dropSmall(regions [][]int, values []float32) [][]schema.LinkID {
	var out [][]schema.LinkID
	means := meansOf(regions, values)
	for i, r := range regions {
		if len(r) < n.cfg.MinLinks || means[i] < n.cfg.MinMeanPercent {
			continue
		}
		slices.Sort(r)
		var links []schema.LinkID
		for _, l := range r {
			links = append(links, schema.LinkID(l))
		}
		out = append(out, links)
	}
	return out
}

func (n *naive) regionDistance(a, b []int) int {
	d := math.MaxInt
	for _, x := range a {
		for _, y := range b {
			d = min(d, n.distance[x][y])
		}
	}
	return d
}

func meansOf(regions [][]int, values []float32) []float64 {
	var means []float64
	for _, r := range regions {
		sum := 0.
		for _, l := range r {
			sum += float64(values[l])
		}
		means = append(means, sum/float64(len(r)))
	}
	return means
}

// closure returns the equivalence classes of the reflexive, symmetric and transitive
// closure of related over the given elements of 0..n-1, each ascending.
func closure(n int, elements []int, related func(a, b int) bool) [][]int {
	var classes [][]int
	seen := make([]bool, n)
	for _, e := range elements {
		if seen[e] {
			continue
		}
		seen[e] = true
		class := []int{e}
		for i := 0; i < len(class); i++ {
			for _, f := range elements {
				if !seen[f] && related(class[i], f) {
					seen[f] = true
					class = append(class, f)
				}
			}
		}
		slices.Sort(class)
		classes = append(classes, class)
	}
	return classes
}

func abs32(x float32) float32 {
	if x < 0 {
		return -x
	}
	return x
}
