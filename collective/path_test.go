package collective_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
)

func joined(t *testing.T, d collective.Diagnosis) {
	t.Helper()
	at := int64(0)
	for _, s := range d.CriticalPath {
		if s.BeginNanos != at || s.EndNanos < s.BeginNanos {
			t.Fatalf("segment %+v does not begin at %d", s, at)
		}
		at = s.EndNanos
	}
	if at != d.MakespanNanos {
		t.Fatalf("segments end at %d, makespan %d", at, d.MakespanNanos)
	}
}

// planRun plays a plan with random durations and delays: a step begins when the rank's
// previous step and all lower-numbered transfers to the rank that it awaits are done.
func planRun(random *rand.Rand, p collective.Plan, algorithm collective.Algorithm) collective.Run {
	run := collective.Run{Communicators: []collective.Communicator{{Algorithm: algorithm}}}
	for i := range p.Members {
		run.Ranks = append(run.Ranks, collective.Rank{Node: fmt.Sprint(i), Host: collective.None})
		run.Communicators[0].Members = append(run.Communicators[0].Members, i)
	}
	type key struct{ rank, step, chunk, channel int }
	end := map[key]int64{}
	for step := 1; step <= p.Steps; step++ {
		for rank, list := range p.Members {
			for i, s := range list {
				if s.Step != step {
					continue
				}
				begin := int64(1_000_000)
				if i > 0 && list[i-1].Channel == s.Channel {
					begin = end[key{rank, list[i-1].Step, list[i-1].Chunk, s.Channel}]
				}
				awaits := int32(collective.None)
				if s.AwaitsStep != collective.None {
					begin = max(begin, end[key{s.AwaitsRank, s.AwaitsStep, s.Chunk, s.Channel}])
					awaits = int32(s.AwaitsStep)
				}
				begin += int64(random.Intn(3)) * 1000
				last := begin + 50_000 + random.Int63n(100_000)
				end[key{rank, step, s.Chunk, s.Channel}] = last
				run.Steps = append(run.Steps, collective.StepRecord{
					Rank: int32(rank), Step: int32(step), Chunk: int32(s.Chunk), Channel: int32(s.Channel), Peer: int32(s.Peer), Bytes: s.Bytes,
					AwaitsRank: int32(s.AwaitsRank), AwaitsStep: awaits, BeginNanos: begin, EndNanos: last,
				})
			}
		}
	}
	return run
}

func shapes() []collective.Shape {
	var out []collective.Shape
	for _, n := range []int{2, 3, 5, 8, 13} {
		for _, chunks := range []int{1, 3} {
			for _, c := range []collective.Shape{
				{Operation: collective.AllReduce, Algorithm: collective.Ring}, {Operation: collective.AllGather, Algorithm: collective.Ring},
				{Operation: collective.AllReduce, Algorithm: collective.HalvingDoubling}, {Operation: collective.AllReduce, Algorithm: collective.Tree},
				{Operation: collective.Broadcast, Algorithm: collective.Tree}, {Operation: collective.Reduce, Algorithm: collective.Tree},
				{Operation: collective.AllReduce, Algorithm: collective.DoubleTree, Channels: 2}, {Operation: collective.AllToAll, Algorithm: collective.Direct},
				{Operation: collective.ReduceScatter, Algorithm: collective.Ring, Channels: 2},
			} {
				c.Members, c.Chunks, c.Bytes = n, chunks, 1_000_003
				out = append(out, c)
			}
		}
	}
	return out
}

// After the steps of an all-reduce every member has every member's part: knowledge
// flows along the transfers in step order. Nothing awaits a later step.
func TestDecomposeMovesTheData(t *testing.T) {
	for _, s := range shapes() {
		p, err := collective.Decompose(s)
		if err != nil {
			t.Fatal(err)
		}
		know := make([]map[int]bool, s.Members)
		for i := range know {
			know[i] = map[int]bool{i: true}
		}
		for step := 1; step <= p.Steps; step++ {
			arrive := map[int][]int{}
			for m, list := range p.Members {
				for _, x := range list {
					if x.AwaitsStep != collective.None && (x.AwaitsStep >= x.Step || x.AwaitsRank == m) {
						t.Fatalf("%+v: member %d: %+v awaits itself or what comes later", s, m, x)
					}
					if x.Step == step && x.Chunk == 0 && (s.Algorithm != collective.DoubleTree || x.Channel < 2) {
						for k := range know[m] {
							arrive[x.Peer] = append(arrive[x.Peer], k)
						}
					}
				}
			}
			for m, parts := range arrive {
				for _, k := range parts {
					know[m][k] = true
				}
			}
		}
		for m := range know {
			want := s.Members
			if s.Operation == collective.Broadcast {
				want = 1 // the root's
			} else if s.Operation == collective.Reduce && m > 0 {
				continue
			}
			if len(know[m]) < want || s.Operation == collective.Broadcast && !know[m][0] {
				t.Errorf("%+v: member %d has the data of %d", s, m, len(know[m]))
			}
		}
	}
}

// longest is the naive twin of the critical path: the end of a step is the longest
// chain of gaps and durations to it, found by recursion over all steps.
func TestPathOfEveryAlgorithm(t *testing.T) {
	random := rand.New(rand.NewSource(7))
	for _, s := range shapes() {
		p, err := collective.Decompose(s)
		if err != nil {
			t.Fatal(err)
		}
		run := planRun(random, p, s.Algorithm)
		want := int64(0)
		for _, x := range run.Steps {
			want = max(want, x.EndNanos-1_000_000)
		}
		d := collective.Diagnose(run, collective.Options{})
		if first := run.Steps[0].BeginNanos; d.MakespanNanos > want || d.MakespanNanos < want-first+1_000_000-3000 {
			t.Errorf("%+v: makespan %d, want %d", s, d.MakespanNanos, want)
		}
		joined(t, d)
		// The order of the records, and duplicates, do not matter.
		mixed := run
		mixed.Steps = append(slices.Clone(run.Steps), run.Steps[:len(run.Steps)/3]...)
		random.Shuffle(len(mixed.Steps), func(i, j int) { mixed.Steps[i], mixed.Steps[j] = mixed.Steps[j], mixed.Steps[i] })
		if again := collective.Diagnose(mixed, collective.Options{}); fmt.Sprint(again.CriticalPath) != fmt.Sprint(d.CriticalPath) {
			t.Errorf("%+v: another path from mixed records", s)
		}
	}
}

func TestDecomposeRefuses(t *testing.T) {
	for _, s := range []collective.Shape{
		{Operation: collective.AllToAll, Algorithm: collective.Ring, Members: 4}, {Operation: collective.AllReduce, Algorithm: collective.Ring, Members: 1},
		{Operation: collective.AllReduce, Algorithm: collective.Ring, Members: 1 << 16}, {Operation: collective.AllReduce, Algorithm: "star", Members: 4},
	} {
		if _, err := collective.Decompose(s); err == nil {
			t.Errorf("%+v is taken apart", s)
		}
	}
}

// Clocks that are off by hours are corrected using matched steps.
func TestClocksOffByHours(t *testing.T) {
	for _, program := range []bool{false, true} {
		m := newModel()
		if program {
			m.program, m.steps, m.choose = halvingDoubling, 6, 0
		}
		m.background(18, 14, 80e6, 16e6)
		run := m.run()
		run.Flows, run.Telemetry, run.Pauses = nil, nil, nil
		want := collective.Diagnose(run, collective.Options{})
		off := map[int32]int64{2: 3_600_000_000_000, 5: -7_200_000_000_000, 7: 40_000_000}
		for i := range run.Steps {
			run.Steps[i].BeginNanos += off[run.Steps[i].Rank]
			run.Steps[i].EndNanos += off[run.Steps[i].Rank]
		}
		got := collective.Diagnose(run, collective.Options{})
		// A ring's differences cancel exactly; pairs that exchange six times leave the
		// shortest delays of few steps.
		if diff := got.MakespanNanos - want.MakespanNanos; diff > want.MakespanNanos/20 || diff < -want.MakespanNanos/20 || !program && diff != 0 {
			t.Errorf("makespan %d, with right clocks %d", got.MakespanNanos, want.MakespanNanos)
		}
		if len(got.ClockOffsets) < 3 || !strings.Contains(got.Text, "clocks") {
			t.Errorf("offsets %v\n%s", got.ClockOffsets, got.Text)
		}
		joined(t, got)
	}
}
