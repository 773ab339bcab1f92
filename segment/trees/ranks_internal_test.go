package trees

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// Ranks are the longest paths to a sink; in cycles and behind them, the shortest paths out.
func TestRanksAreThoseOfNaiveWalks(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	cyclic := 0
	for range 400 {
		m := drawnTrees(rng)
		m.rankNodes()
		want := naiveRanks(m)
		if !slices.Equal(m.rank, want) {
			t.Fatalf("ranks %v, want %v; lists %v of %v, sinks %v", m.rank, want, m.Next, m.List, m.sink)
		}
		if slices.Contains(want, lastRank) {
			cyclic++
		}
		if !slices.IsSortedFunc(m.order, func(a, b index.Node) int { return int(want[a] - want[b]) }) {
			t.Fatalf("order %v of ranks %v", m.order, want)
		}
	}
	if cyclic < 40 || cyclic > 360 {
		t.Errorf("%d of 400 have a cycle without a way out", cyclic)
	}
}

// drawnTrees are nodes that wait for each other at random. The first few are from hosts, so nothing waits for them;
// some of these share a list. Device 0 is the only switch.
func drawnTrees(rng *rand.Rand) *trees {
	n := 2 + rng.Intn(30)
	hosts := rng.Intn(n)
	t := &trees{sink: make([]placeID, n), Waits: backpressure.Waits{List: make([]backpressure.ListID, n), Nodes: backpressure.Nodes{
		Graph: &backpressure.Graph{IsSwitch: []bool{true, false}}, Links: make([]index.Link, n), From: make([]index.Device, n)}}}
	t.Next.Off = append(t.Next.Off, 0)
	degree := 1 + rng.Intn(3)
	for i := range n {
		t.sink[i], t.List[i] = -1, backpressure.ListID(i)
		if i < hosts {
			t.From[i] = 1
		}
		for range rng.Intn(degree + 1) {
			if hosts < n {
				t.Next.At = append(t.Next.At, index.Node(hosts+rng.Intn(n-hosts)))
			}
		}
		t.Next.Off = append(t.Next.Off, int32(len(t.Next.At)))
		if i > 0 && i < hosts && rng.Intn(2) == 0 {
			t.List[i] = t.List[i-1]
		}
		if len(t.MayWaitFor(index.Node(i))) == 0 || rng.Intn(8) == 0 {
			t.sink[i] = 0
		}
	}
	return t
}

// naiveRanks extends paths one step at a time.
func naiveRanks(t *trees) []hops {
	n := len(t.Links)
	rank := make([]hops, n)
	for range maxRank {
		was := slices.Clone(rank)
		for i := range rank {
			for _, j := range t.after(index.Node(i)) {
				rank[i] = max(rank[i], min(maxRank, was[j]+1))
			}
		}
	}
	for i := range rank {
		if rank[i] == maxRank {
			rank[i] = lastRank
		}
	}
	for r := hops(maxRank); r < lastRank; r++ {
		was := slices.Clone(rank)
		for i := range rank {
			if was[i] == lastRank && slices.ContainsFunc(t.after(index.Node(i)), func(j index.Node) bool { return was[j] < r }) {
				rank[i] = r
			}
		}
	}
	for i := range rank { // a host comes after all that it waits for
		for _, j := range t.after(index.Node(i)) {
			if t.FromHost(index.Node(i)) {
				rank[i] = max(rank[i], min(lastRank, rank[j]+1))
			}
		}
	}
	return rank
}
