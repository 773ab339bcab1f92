// Package planstest makes runs from the plans of collectives, for tests.
package planstest

import (
	"fmt"
	"math/rand"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/plans"
)

// Run plays a plan with random durations and delays: a step begins when the rank's
// previous step and all lower-numbered transfers to the rank that it awaits are done.
func Run(random *rand.Rand, p plans.Plan, algorithm collective.Algorithm) collective.Run {
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

// Shapes are all operations and algorithms that can be decomposed, of several sizes, whole and in chunks.
func Shapes() []plans.Shape {
	var out []plans.Shape
	for _, n := range []int{2, 3, 5, 8, 13} {
		for _, chunks := range []int{1, 3} {
			for _, c := range []plans.Shape{
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
