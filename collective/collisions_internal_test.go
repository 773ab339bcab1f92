package collective

import (
	"testing"

	"github.com/giverny/giverny/collective/network"
)

// twoSpines are two leaves (0, 1), two spines (2, 3), and hosts 4 and 5 at the first leaf,
// 6 and 7 at the second.
func twoSpines() *network.Fabric {
	f := &network.Fabric{}
	for i := range 8 {
		f.Nodes = append(f.Nodes, network.Node{Name: string(rune('0' + i)), Switch: i < 4})
	}
	for host := 4; host < 8; host++ {
		f.Links = append(f.Links, network.Link{A: host, B: (host - 4) / 2, APort: 1, BPort: 1 + host%2, BitsPerSecond: 25e9})
	}
	for leaf := range 2 {
		for spine := 2; spine < 4; spine++ {
			f.Links = append(f.Links, network.Link{A: leaf, B: spine, APort: 1 + spine, BPort: 1 + leaf, BitsPerSecond: 25e9})
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
		e := newEvidence(table, newTraffic(table, newFabric(run.Fabric, 0)), &scratch{})
		if got := e.collisions(nil, 0, e.stream(0), true); len(got) > 0 {
			t.Errorf("certain: %+v, want none", got)
		}
		if got := e.collisions(nil, 0, e.stream(0), false); len(got) != causes {
			t.Errorf("the other lasts %d ns: %+v, want %d possible", lasts, got, causes)
		}
	}
}
