package segment

import (
	"math/rand"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// naiveMeeting is what meets and is thin.
type naiveMeeting struct {
	links, small, within, total int
	above, below                []int
	enclosed                    bool
}

// meetings are the segments that are thin and meet, by one of their names, and that name of each.
func (v *naiveView) meetings(label naiveLabel) (map[int]*naiveMeeting, map[int]int) {
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
	meetings, sum := map[int]*naiveMeeting{}, map[int]int{}
	for name, a := range nodes {
		m := meetings[group[name]]
		if m == nil {
			m = &naiveMeeting{enclosed: true}
			meetings[group[name]] = m
		}
		m.links += a.size
		sum[group[name]] += a.sum
		if a.size < v.cfg.MinLinks {
			m.small += a.size
		}
		for other := range a.edges {
			m.enclosed = m.enclosed && (other == backgroundLink || thin(other))
		}
	}
	for l, name := range label {
		if name != backgroundLink {
			m, own := meetings[group[name]], nodes[name]
			m.within += naiveDistance(v.raw[l], own.sum/own.size)
			m.total += naiveDistance(v.raw[l], sum[group[name]]/m.links)
			if v.raw[l]*m.links > sum[group[name]] {
				m.above = append(m.above, v.raw[l])
			} else {
				m.below = append(m.below, v.raw[l])
			}
		}
	}
	return meetings, group
}

func joinedWhere(label naiveLabel, meetings map[int]*naiveMeeting, group map[int]int, holds func(*naiveMeeting) bool) naiveLabel {
	for l, name := range label {
		if name != backgroundLink && holds(meetings[group[name]]) {
			label[l] = group[name]
		}
	}
	return label.renamed()
}

// joinTreePieces is treePieces.join.
func (v *naiveView) joinTreePieces(label naiveLabel) naiveLabel {
	meetings, group := v.meetings(label)
	return joinedWhere(label, meetings, group, func(m *naiveMeeting) bool {
		return float64(m.within)*levelUnit > unevenDeviation*float64(m.links) && float64(m.within) > unevenShare*float64(m.total)
	})
}

// joinTreeFragments is treePieces.joinFragments.
func (v *naiveView) joinTreeFragments(label naiveLabel) naiveLabel {
	meetings, group := v.meetings(label)
	return joinedWhere(label, meetings, group, func(m *naiveMeeting) bool {
		apart := float64(naiveApart(m.above) + naiveApart(m.below))
		return m.links >= v.cfg.MinLinks && 2*m.small >= m.links && m.enclosed &&
			apart*levelUnit > unevenDeviation*float64(m.links) && apart > spreadShare*float64(m.total)
	})
}

// naiveApart is how far levels are from their mean.
func naiveApart(levels []int) (apart int) {
	sum := 0
	for _, level := range levels {
		sum += level
	}
	for _, level := range levels {
		apart += naiveDistance(level, sum/len(levels))
	}
	return apart
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

// A small congestion tree of which every link stalls as it happens, so that no piece of it is large enough for a region, is one.
func TestFragmentedTreeIsOneRegion(t *testing.T) {
	g := parse(t, "torus:12x12x12")
	column, rows := gridTree(g, [3]int{5, 6, 7}, 3)
	for seed := range int64(40) {
		rng := rand.New(rand.NewSource(seed))
		values, want := wavy(g, seed), 0
		for _, links := range append(rows, column) {
			for _, l := range links {
				values.add(float32(20+70*rng.Float64()), 0, []schema.LinkID{l}, 0)
				want++
			}
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
