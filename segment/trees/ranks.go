package trees

import (
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

const (
	maxRank  = backpressure.MostHops
	lastRank = 3 * maxRank
)

// after lists the nodes that a node waits for; none if it waits at a sink.
func (t *trees) after(i index.Node) []index.Node {
	if t.sink[i] >= 0 {
		return nil
	}
	return t.MayWaitFor(i)
}

// isSameList reports whether two lists share memory, as nodes do that wait for the same: results are then computed
// once.
func isSameList(a, b []index.Node) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// rankNodes orders the nodes topologically, by their longest path to a sink: what a node waits for comes before it.
// Nodes of a cycle, or behind one, come last, by the shortest path out of it.
func (t *trees) rankNodes() {
	n := len(t.Links)
	t.rank, t.was, t.order = scratch.Filled(t.rank, n, unranked), scratch.Slice(t.was, n), scratch.Slice(t.order, n)
	for i := range t.Links.Len() {
		if t.rank[i] == unranked && !t.FromHost(i) {
			t.rankBehind(i)
		}
	}
	t.rankCycles()
	t.rankHosts()
	t.sortByRank()
}

// rankHosts ranks the links from hosts: these wait for every link out of their leaf, and nothing waits for them.
func (t *trees) rankHosts() {
	var last []index.Node // what the previous one waits for
	rank := hops(0)
	for i := range t.rank.Len() {
		if !t.FromHost(i) {
			continue
		}
		if after := t.after(i); !isSameList(after, last) {
			last, rank = after, 0
			for _, j := range after {
				rank = max(rank, min(lastRank, t.rank[j]+1))
			}
		}
		t.rank[i] = rank
	}
}

// unranked is the rank of a node that rankBehind has not visited.
const unranked = hops(-1)

// rankBehind ranks a node by its longest path to a sink, after everything that it waits for. Nodes of a cycle, or
// behind one, get maxRank: the depth-first search meets a node that is still on its stack.
func (t *trees) rankBehind(i index.Node) {
	t.rank[i] = maxRank
	longest := hops(0)
	for _, j := range t.after(i) {
		if t.rank[j] == unranked {
			t.rankBehind(j)
		}
		longest = max(longest, min(maxRank, t.rank[j]+1))
	}
	t.rank[i] = longest
}

// rankCycles ranks the nodes of cycles, and those behind them, by the shortest path out.
func (t *trees) rankCycles() {
	isAny := false
	for i, r := range t.rank {
		if r == maxRank {
			t.rank[i], isAny = lastRank, true
		}
	}
	for r := hops(maxRank); isAny && r < lastRank; r++ {
		isAny = false
		copy(t.was, t.rank) // synchronous, so that the order of links does not matter
		for i := range t.was.Len() {
			if t.was[i] == lastRank && slices.ContainsFunc(t.after(i), func(j index.Node) bool { return t.was[j] < r }) {
				t.rank[i], isAny = r, true
			}
		}
	}
}

// sortByRank lists the nodes by rank, by a counting sort.
func (t *trees) sortByRank() {
	clear(t.first[:])
	for _, r := range t.rank {
		t.first[r+1]++
	}
	for r := range lastRank {
		t.first[r+1] += t.first[r]
	}
	for i := range t.rank.Len() {
		r := t.rank[i]
		t.order[t.first[r]] = i
		t.first[r]++
	}
}
