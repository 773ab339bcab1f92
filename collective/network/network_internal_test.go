package network

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// TestTableIsAMap: against a plain map, over ports that the fabric has and others,
// and after the table was emptied.
func TestTableIsAMap(t *testing.T) {
	fabric := &Fabric{Nodes: make([]Node, 3), Links: []Link{
		{A: 0, B: 1, APort: 1, BPort: 3}, {A: 1, B: 2, APort: 1, BPort: maxPortNumber + 1}, {A: 0, B: 2, APort: 1, BPort: 2},
	}}
	table := NewTable[int](New(fabric, 0))
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 3 {
		want := map[Port]int{}
		for i := range 200 {
			p := Port{random.IntN(5) - 1, []int{-1, 0, 1, 2, 3, 4, maxPortNumber, maxPortNumber + 1}[random.IntN(8)]}
			if got := table.Get(p); (got == nil) != (want[p] == 0) || got != nil && *got != want[p] {
				t.Fatalf("round %d: %v: got %v, want %d", round, p, got, want[p])
			}
			if i%2 == 0 {
				*table.At(p), want[p] = i+1, i+1
			}
		}
		got := map[Port]int{}
		for p, v := range table.All() {
			got[p] = *v
		}
		if !maps.Equal(got, want) {
			t.Errorf("round %d: listed %v, want %v", round, got, want)
		}
		table.Empty()
	}
}

// TestNextIsTheFirstLinkOfAPort compares with a search through the node's hops.
func TestNextIsTheFirstLinkOfAPort(t *testing.T) {
	fabric := &Fabric{Nodes: make([]Node, 3), Links: []Link{
		{A: 0, B: 1, APort: 1, BPort: 3}, {A: 1, B: 2, APort: 1, BPort: maxPortNumber + 1}, {A: 0, B: 2, APort: 1, BPort: 2},
	}}
	n := New(fabric, 0)
	for node := -1; node < 4; node++ {
		for number := -1; number < maxPortNumber+3; number++ {
			var want Hop
			found := false
			if node >= 0 && node < 3 {
				for _, h := range n.neighbours[node] {
					if h.Port == number && !found {
						want, found = h, true
					}
				}
			}
			if got, ok := n.Next(Port{node, number}); ok != found || got != want {
				t.Errorf("port %d of node %d: %v %v, want %v %v", number, node, got, ok, want, found)
			}
		}
	}
}

// TestWaysDependOnWhatWasSeen: a flow's cached route is reused between runs only if
// switches saw it at the same ports.
func TestWaysDependOnWhatWasSeen(t *testing.T) {
	// two leaves (0, 1), two spines (2, 3), and a host at each leaf
	n := New(&Fabric{Nodes: []Node{{"0", true}, {"1", true}, {"2", true}, {"3", true}, {"4", false}, {"5", false}}, Links: []Link{
		{A: 4, B: 0, APort: 1, BPort: 1}, {A: 5, B: 1, APort: 1, BPort: 1},
		{A: 0, B: 2, APort: 3, BPort: 1}, {A: 0, B: 3, APort: 4, BPort: 1}, {A: 1, B: 2, APort: 3, BPort: 2}, {A: 1, B: 3, APort: 4, BPort: 2},
	}}, 0)
	of := n.Pair(4, 5)
	for _, spine := range []int{2, 3, 3, 2} {
		up := Port{0, spine + 1}
		if way := n.Way(of, []Port{up}); !way.Certain(up) || len(way.Sure) != 4 {
			t.Errorf("seen at %v: certain are %v", up, way.Sure)
		}
	}
	if way := n.Way(of, nil); len(way.Ports) != 6 || len(way.Sure) != 2 {
		t.Errorf("not seen: %+v", way)
	}
}
