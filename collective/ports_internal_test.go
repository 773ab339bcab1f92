package collective

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// TestPortTableIsAMap: against a plain map, over ports that the fabric has and others,
// and after the table was emptied.
func TestPortTableIsAMap(t *testing.T) {
	fabric := &Fabric{Nodes: make([]Node, 3), Links: []Link{
		{A: 0, B: 1, APort: 1, BPort: 3}, {A: 1, B: 2, APort: 1, BPort: maxPortNumber + 1}, {A: 0, B: 2, APort: 1, BPort: 2},
	}}
	table := portTable[int]{net: newNetwork(fabric, 0)}
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 3 {
		want := map[port]int{}
		for i := range 200 {
			p := port{random.IntN(5) - 1, []int{-1, 0, 1, 2, 3, 4, maxPortNumber, maxPortNumber + 1}[random.IntN(8)]}
			if got := table.get(p); (got == nil) != (want[p] == 0) || got != nil && *got != want[p] {
				t.Fatalf("round %d: %v: got %v, want %d", round, p, got, want[p])
			}
			if i%2 == 0 {
				*table.at(p), want[p] = i+1, i+1
			}
		}
		got := map[port]int{}
		for _, e := range table.list {
			got[e.port] = e.value
		}
		if !maps.Equal(got, want) {
			t.Errorf("round %d: listed %v, want %v", round, got, want)
		}
		table.empty()
	}
}

// TestNextIsTheFirstLinkOfAPort compares with a search through the node's hops.
func TestNextIsTheFirstLinkOfAPort(t *testing.T) {
	fabric := &Fabric{Nodes: make([]Node, 3), Links: []Link{
		{A: 0, B: 1, APort: 1, BPort: 3}, {A: 1, B: 2, APort: 1, BPort: maxPortNumber + 1}, {A: 0, B: 2, APort: 1, BPort: 2},
	}}
	n := newNetwork(fabric, 0)
	for node := -1; node < 4; node++ {
		for number := -1; number < maxPortNumber+3; number++ {
			var want hop
			found := false
			if node >= 0 && node < 3 {
				for _, h := range n.hops[node] {
					if h.port == number && !found {
						want, found = h, true
					}
				}
			}
			if got, ok := n.next(port{node, number}); ok != found || got != want {
				t.Errorf("port %d of node %d: %v %v, want %v %v", number, node, got, ok, want, found)
			}
		}
	}
}

// TestWaysDependOnWhatWasSeen: a flow's cached route is reused between runs only if
// switches saw it at the same ports.
func TestWaysDependOnWhatWasSeen(t *testing.T) {
	n := newNetwork(twoSpines(), 0)
	of := n.pair(4, 6)
	for _, spine := range []int{2, 3, 3, 2} {
		up := port{0, spine + 1}
		if way := n.way(of, []port{up}); !way.certain(up) || len(way.sure) != 4 {
			t.Errorf("seen at %v: certain are %v", up, way.sure)
		}
	}
	if way := n.way(of, nil); len(way.ports) != 6 || len(way.sure) != 2 {
		t.Errorf("not seen: %+v", way)
	}
}

// twoSpines are two leaves (0, 1), two spines (2, 3), and hosts 4 and 5 at the first leaf,
// 6 and 7 at the second.
func twoSpines() *Fabric {
	f := &Fabric{}
	for i := range 8 {
		f.Nodes = append(f.Nodes, Node{Name: string(rune('0' + i)), Switch: i < 4})
	}
	for host := 4; host < 8; host++ {
		f.Links = append(f.Links, Link{A: host, B: (host - 4) / 2, APort: 1, BPort: 1 + host%2, BitsPerSecond: 25e9})
	}
	for leaf := range 2 {
		for spine := 2; spine < 4; spine++ {
			f.Links = append(f.Links, Link{A: leaf, B: spine, APort: 1 + spine, BPort: 1 + leaf, BitsPerSecond: 25e9})
		}
	}
	return f
}

// TestPossibleCollisionsNeedTwo: two flows of the collective with unknown paths may
// share an uplink; one has slowed the other only if both lost time.
func TestPossibleCollisionsNeedTwo(t *testing.T) {
	for lasts, causes := range map[int64]int{10e6: 1, 5e6: 0} {
		run := &Run{Fabric: twoSpines()}
		for host := 4; host < 8; host++ {
			run.Ranks = append(run.Ranks, Rank{Node: string(rune('0' + host)), Host: host})
		}
		for step, both := range [][2]int64{{10e6, lasts}, {5e6, 5e6}, {5e6, 5e6}} {
			for rank, nanos := range both {
				begin := int64(step) * 10e6
				run.Steps = append(run.Steps, StepRecord{Step: int32(step + 1), Rank: int32(rank), Peer: int32(rank + 2), Bytes: 15e6, BeginNanos: begin, EndNanos: begin + nanos, AwaitsStep: None})
			}
		}
		table := newTable(run, defaultLimit, &scratch{}, nil)
		table.bounds()
		e := newEvidence(table, newTraffic(table, newNetwork(run.Fabric, 0)), &scratch{})
		if got := e.collisions(nil, 0, e.stream(0), true); len(got) > 0 {
			t.Errorf("certain: %+v, want none", got)
		}
		if got := e.collisions(nil, 0, e.stream(0), false); len(got) != causes {
			t.Errorf("the other lasts %d ns: %+v, want %d possible", lasts, got, causes)
		}
	}
}
