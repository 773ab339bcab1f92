package collective

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// randomTable is a part of a long run: steps with gaps after the predecessors that they wait for, of which the first of a
// chain may be in the part before.
func randomTable(random *rand.Rand) *table {
	const ranks = 4
	n := 1 + random.IntN(24)
	t := &table{run: &Run{Ranks: make([]Rank, ranks)}, before: map[chain]StepRecord{}, first: 1 << 62}
	latest := [ranks]int32{-1, -1, -1, -1}
	for rank := range int32(ranks) {
		if random.IntN(3) > 0 {
			t.before[chain{rank: rank}] = StepRecord{Rank: rank, EndNanos: 1000 + random.Int64N(300)}
		}
	}
	for i := range int32(n) {
		rank := int32(random.IntN(ranks))
		t.steps = append(t.steps, StepRecord{Rank: rank, Peer: -1})
		own, awaited, ready := latest[rank], int32(-1), int64(1000)
		latest[rank] = i
		if own >= 0 {
			ready = t.end[own]
		} else if r, known := t.before[chain{rank: rank}]; known {
			ready = r.EndNanos
		}
		if i > 0 && random.IntN(2) > 0 {
			awaited = random.Int32N(i)
			ready = max(ready, t.end[awaited])
		}
		begin := ready + random.Int64N(3)*50
		t.own, t.awaited = append(t.own, own), append(t.awaited, awaited)
		t.begin, t.end = append(t.begin, begin), append(t.end, begin+1+random.Int64N(200))
		t.first, t.last = min(t.first, begin), max(t.last, t.end[i])
	}
	return t
}

// A step may end later by its slack, and no more, before the run does.
func TestSlackIsWhatReplayAllows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		table := randomTable(random)
		n := len(table.steps)
		less, idle, ends := make([]int64, n), make([]int64, n), make([]int64, n)
		makespan := table.replay(less, idle, ends, 0)
		if makespan != table.last-table.first || !slices.Equal(ends, table.end) {
			t.Fatalf("replayed unchanged: %d, %v; want %d, %v", makespan, ends, table.last-table.first, table.end)
		}
		for i, slack := range table.slack() {
			for _, later := range []int64{slack, slack + 1} {
				less[i] = -later
				if got := table.replay(less, idle, ends, 0); got != makespan+later-slack {
					t.Fatalf("step %d of %+v, later by %d of %d: %d, want %d", i, table, later, slack, got, makespan+later-slack)
				}
			}
			less[i] = 0
		}
	}
}

// What a step does not wait for cannot make it sooner: here the first step of a rank in this part waits for the rank's own
// last step in the part before, longer than for the data.
func TestTheRecordBeforeAPartHoldsItsFirstStep(t *testing.T) {
	table := &table{run: &Run{Ranks: make([]Rank, 2)}, steps: []StepRecord{{Rank: 0, Peer: 1}, {Rank: 1, Peer: -1}}, begin: []int64{0, 500}, end: []int64{400, 900},
		own: []int32{-1, -1}, awaited: []int32{-1, 0}, before: map[chain]StepRecord{{rank: 1}: {Rank: 1, EndNanos: 500}}, last: 900}
	if got := table.replay([]int64{300, 0}, make([]int64, 2), make([]int64, 2), 0); got != 900 {
		t.Errorf("with the data sooner by 300 it takes %d, want 900", got)
	}
}
