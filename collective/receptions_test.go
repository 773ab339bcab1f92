package collective_test

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/network"
)

// pairs are iterations of two ranks that send to each other once; rank 1 sends slowly,
// and rank 0 begins the next iteration lag after rank 1's data arrived.
func pairs(iterations int, lag int64) collective.Run {
	ranks, communicators := ringRanks(2)
	run := collective.Run{Ranks: ranks, Communicators: communicators}
	run.Communicators[0].Steps = 1
	for i := range iterations {
		at := 1e9 + int64(i)*(5_000_000+lag)
		for rank, lasts := range []int64{1_000_000, 5_000_000} {
			run.Steps = append(run.Steps, collective.StepRecord{
				Iteration: int32(i), Step: 1, Rank: int32(rank), Peer: int32(1 - rank), AwaitsStep: collective.None,
				Bytes: 1 << 20, BeginNanos: at, EndNanos: at + lasts, AloneNanos: lasts,
			})
		}
	}
	return run
}

// TestIterationsComeAfterReceptions: a rank that has sent everything still waits for
// its receptions, and is late only after them; in one run and in parts.
func TestIterationsComeAfterReceptions(t *testing.T) {
	for name, limit := range map[string]int{"whole": 0, "parts": 4} {
		z := collective.NewAnalyser(collective.Options{Limit: limit})
		if d := z.Diagnose(pairs(4, 2_000)); len(d.Culprits) > 0 || len(d.LateRanks) > 0 {
			t.Errorf("%s: %s", name, d.Text)
		}
	}
}

// TestIterationsBeforeReceptions: if a rank continues before it has received
// everything, receptions are not awaited.
func TestIterationsBeforeReceptions(t *testing.T) {
	run := pairs(4, 2_000)
	run.Steps[2].BeginNanos, run.Steps[2].EndNanos = run.Steps[2].BeginNanos-3_000_000, run.Steps[2].EndNanos-3_000_000
	d := collective.Diagnose(run, collective.Options{})
	if !slices.Equal(d.LateRanks, []int{0}) {
		t.Error(d.Text)
	}
}

// TestChunksOneAtATime: a rank that sends its chunks one at a time begins the next step
// after the last chunk of this one, and is not late.
func TestChunksOneAtATime(t *testing.T) {
	ranks, communicators := ringRanks(2)
	run := collective.Run{Ranks: ranks, Communicators: communicators}
	const lasts, chunks, steps = 1_000_000, 4, 2
	for rank := range int32(2) {
		for i := range int32(steps * chunks) {
			step, chunk := i/chunks+1, i%chunks
			begin := 1e9 + int64(i)*(lasts+int64(rank)*500_000)
			r := collective.StepRecord{Step: step, Chunk: chunk, Rank: rank, Peer: 1 - rank, AwaitsRank: 1 - rank, AwaitsStep: step - 1,
				Bytes: 1 << 20, BeginNanos: begin, EndNanos: begin + lasts, AloneNanos: lasts}
			if step == 1 {
				r.AwaitsStep = collective.None
			}
			run.Steps = append(run.Steps, r)
		}
	}
	d := collective.Diagnose(run, collective.Options{})
	if slices.Contains(d.LateRanks, 0) || !slices.Equal(d.LateRanks, []int{1}) {
		t.Error(d.Text)
	}
	if late := d.Culprits[0].CostNanos; late != 7*500_000 {
		t.Errorf("rank 1 is late seven times by 0.5 ms; got %d ns: %s", late, d.Text)
	}
}

// TestHangBehindTheNextIteration: ranks that finished an iteration in which another one
// stopped begin the next; only the one that stopped is named.
func TestHangBehindTheNextIteration(t *testing.T) {
	ranks, communicators := ringRanks(4)
	steps := ringIteration(nil, 4, collective.None, 1e9)
	last := int64(0)
	for _, r := range steps {
		last = max(last, r.EndNanos)
	}
	steps = slices.DeleteFunc(steps, func(r collective.StepRecord) bool { return r.Rank == 1 && r.Step == 6 })
	for _, r := range ringIteration(nil, 4, collective.None, last) {
		if r.Step == 1 && (r.Rank == 0 || r.Rank == 3) || r.Step == 2 && r.Rank == 0 {
			r.Iteration = 1
			steps = append(steps, r)
		}
	}
	flows := []collective.Flow{{Source: 0, Destination: 1, Bytes: 1, BeginNanos: 1e9, EndNanos: 2e9}} // the records go on
	fabric := network.Fabric{Nodes: []network.Node{{Name: "a"}, {Name: "b"}}}
	d := collective.Diagnose(collective.Run{Ranks: ranks, Communicators: communicators, Steps: steps, Flows: flows, Fabric: &fabric}, collective.Options{})
	if !slices.Equal(d.StoppedRanks, []int{1}) || len(d.Culprits) != 1 || d.Culprits[0].Class != collective.Hang {
		t.Error(d.Text)
	}
}
