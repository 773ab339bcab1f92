package monet

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/segment/linkset"
)

// switchNear measures the number of switches on a shortest path between two links:
// links that share a switch are 1 apart.
//
// Pairs are never enumerated. All links around a centre are near each other if the
// centre is a switch and delta is odd (everything within (delta-1)/2 hops), or if the
// centre is a cable and delta is even (within (delta-2)/2 hops of one of its ends); and
// every two near links lie around such a centre, the middle of the path between them.
// In a set whose members are all near each other, closure by similarity joins
// neighbours in value order.
type switchNear struct {
	adj     *linkset.Adjacency
	delta   int
	radius  int        // hops around a centre
	centres [][2]int32 // two ends of a cable, or a switch and linkset.NoSwitch

	switchSeen, linkSeen []int32 // by number: the last generation that visited it
	generation           int32
	frontier             []int32
	found                []nearLink
	members              []member
}

type member struct {
	value float32
	link  int32
}

func newSwitchNear(adj *linkset.Adjacency, delta int) *switchNear {
	n := &switchNear{adj: adj, delta: delta, radius: (delta - 1) / 2,
		switchSeen: make([]int32, adj.NumSwitches()), linkSeen: make([]int32, adj.NumLinks())}
	cabled := make([]bool, adj.NumSwitches())
	if delta%2 == 0 {
		for _, e := range adj.Ends {
			if e[1] != linkset.NoSwitch {
				n.centres = append(n.centres, [2]int32{min(e[0], e[1]), max(e[0], e[1])})
				cabled[e[0]], cabled[e[1]] = true, true
			}
		}
		slices.SortFunc(n.centres, func(a, b [2]int32) int {
			return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
		})
		n.centres = slices.Compact(n.centres)
	}
	for s := range int32(adj.NumSwitches()) {
		if !cabled[s] {
			n.centres = append(n.centres, [2]int32{s, linkset.NoSwitch})
		}
	}
	return n
}

// around lists the links that touch a switch within hops of the two seeds, with the
// number of switches on the path, nearest first.
func (n *switchNear) around(seeds [2]int32, hops int) []nearLink {
	n.generation++
	n.frontier, n.found = n.frontier[:0], n.found[:0]
	enter := func(s int32) {
		if s != linkset.NoSwitch && n.switchSeen[s] != n.generation {
			n.switchSeen[s] = n.generation
			n.frontier = append(n.frontier, s)
		}
	}
	enter(seeds[0])
	enter(seeds[1])
	begin := 0
	for hop := 0; hop <= hops; hop++ {
		end := len(n.frontier)
		for _, s := range n.frontier[begin:end] {
			for _, l := range n.adj.Links(s) {
				if n.linkSeen[l] != n.generation {
					n.linkSeen[l] = n.generation
					n.found = append(n.found, nearLink{l, int8(hop + 1)})
				}
				if hop < hops {
					enter(n.adj.Far(l, s))
				}
			}
		}
		begin = end
	}
	return n.found
}

func (n *switchNear) joinSimilar(values []float32, theta float32, sets *linkset.UnionFind) {
	for _, centre := range n.centres {
		n.members = n.members[:0]
		for _, l := range n.around(centre, n.radius) {
			if v := values[l.link]; v >= 0 {
				n.members = append(n.members, member{v, l.link})
			}
		}
		slices.SortFunc(n.members, func(a, b member) int { return cmp.Compare(a.value, b.value) })
		for i := 1; i < len(n.members); i++ {
			if n.members[i].value-n.members[i-1].value <= theta {
				sets.Union(n.members[i].link, n.members[i-1].link)
			}
		}
	}
}

func (n *switchNear) appendNear(buf []nearLink, x int32) []nearLink {
	for _, l := range n.around(n.adj.Ends[x], n.delta-1) {
		if l.link != x {
			buf = append(buf, l)
		}
	}
	return buf
}
