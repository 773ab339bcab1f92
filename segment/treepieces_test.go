package segment

import (
	"math/rand"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// joinTreePieces is treePieces.join.
func (v *naiveView) joinTreePieces(label naiveLabel) naiveLabel {
	nodes := v.nodes(label)
	thin := func(name int) bool {
		switches := map[int]bool{}
		for l, of := range label {
			if of == name {
				for _, s := range v.mergedSwitchesOf(l) {
					switches[s] = true
				}
			}
		}
		return name != backgroundLink && float64(nodes[name].size) <= thinLinks*float64(len(switches))
	}
	group, pairs := map[int]int{}, [][2]int(nil)
	for name, a := range nodes {
		group[name] = name
		for other := range a.edges {
			if thin(name) && thin(other) {
				pairs = append(pairs, [2]int{name, other})
			}
		}
	}
	naiveUnion(group, pairs)
	links, sum, within, total := map[int]int{}, map[int]int{}, map[int]int{}, map[int]int{}
	for name, a := range nodes {
		links[group[name]] += a.size
		sum[group[name]] += a.sum
	}
	for l, name := range label {
		if name != backgroundLink {
			of, own := group[name], nodes[name]
			within[of] += naiveDistance(v.raw[l], own.sum/own.size)
			total[of] += naiveDistance(v.raw[l], sum[of]/links[of])
		}
	}
	for l, name := range label {
		of := group[name]
		if name != backgroundLink && float64(within[of])*levelUnit > unevenDeviation*float64(links[of]) && float64(within[of]) > unevenShare*float64(total[of]) {
			label[l] = of
		}
	}
	return label.renamed()
}

func naiveDistance(a, b int) int { return max(a-b, b-a) }

// gridTree is the links of dimension-ordered routes to a switch from those of a plane through it, x before y:
// a column, and a row through each of its switches.
func gridTree(g *topology.Graph, root [3]int, reach int) (column []schema.LinkID, rows [][]schema.LinkID) {
	along := func(from [3]int, dim, length int) []schema.LinkID {
		from[dim] -= reach
		size := [3]int{1, 1, 1}
		size[dim] = length
		var links []schema.LinkID
		for _, l := range box(g, from, size) {
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

// A congestion tree of which every row stalls as it happens, and in which every link does, is one region, but for rows that are too small and calm.
func TestUnevenTreeIsOneRegion(t *testing.T) {
	g := parse(t, "torus:12x12x12")
	column, rows := gridTree(g, [3]int{5, 6, 7}, 4)
	for seed := range int64(40) {
		rng := rand.New(rand.NewSource(seed))
		values := wavy(g, seed).add(85, 8, column, seed+100)
		want := len(column)
		for i, row := range rows {
			values.add(float32(35+60*rng.Float64()), 12, row, 100*seed+int64(i))
			want += len(row)
		}
		if seed < 5 {
			checkTwin(t, g, DefaultConfig(), snapshotOf(map[schema.Metric][]float32{schema.CreditStall: values}))
		}
		got := find(t, g, DefaultConfig(), values)
		if len(got) != 1 || got[0].Size < want*3/4 || got[0].Size > want*11/10 {
			t.Errorf("seed %d: got %s, want one of %d links", seed, sizes(got), want)
		}
	}
}

// Two combs as thin as trees, each even, are two regions, on a quiet fabric too, where they are more uneven than
// what noise its calm links show: their difference is a boundary.
func TestEvenRowsStayApart(t *testing.T) {
	g := parse(t, "torus:14x14x14")
	low, high := box(g, [3]int{2, 5, 5}, [3]int{9, 1, 1}), box(g, [3]int{11, 5, 5}, [3]int{1, 9, 1})
	for seed := range int64(10) {
		for about, values := range map[string]painting{"quiet": blank(g).noisy(.1, seed), "noisy": wavy(g, seed)} {
			got := find(t, g, DefaultConfig(), values.add(20, 1.5, low, seed+100).add(45, 1.5, high, seed+200))
			if len(got) != 2 {
				t.Errorf("%s, seed %d: got %s, want two", about, seed, sizes(got))
			}
		}
	}
}
