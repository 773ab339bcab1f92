package collective_test

import (
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/network"
	"github.com/giverny/giverny/internal/test/cputime"
)

// ringIteration fills in one ring all-reduce: every rank sends in every step, and a
// late rank delays the others.
func ringIteration(steps []collective.StepRecord, ranks, late int, at int64) []collective.StepRecord {
	const duration = 13_858
	steps = steps[:0]
	end := make([]int64, ranks)
	before := make([]int64, ranks)
	for i := range before {
		before[i] = at
	}
	for step := 1; step <= 2*(ranks-1); step++ {
		for rank := range ranks {
			begin := max(before[rank], before[(rank+ranks-1)%ranks])
			if rank == late && step == ranks/2 {
				begin += 5_000_000
			}
			end[rank] = begin + duration
			steps = append(steps, collective.StepRecord{
				Step: int32(step), Rank: int32(rank), Peer: int32((rank + 1) % ranks), Bytes: 40_000, BeginNanos: begin, EndNanos: end[rank], AloneNanos: 13_285,
				AwaitsRank: int32((rank + ranks - 1) % ranks), AwaitsStep: int32(step - 1),
			})
			if step == 1 {
				steps[len(steps)-1].AwaitsStep = collective.None
			}
		}
		before, end = end, before
	}
	return steps
}

func ringRanks(n int) (ranks []collective.Rank, communicators []collective.Communicator) {
	members := make([]int, n)
	for i := range n {
		members[i] = i
		ranks = append(ranks, collective.Rank{Node: strconv.Itoa(i), Host: collective.None})
	}
	return ranks, []collective.Communicator{{Members: members, Algorithm: collective.Ring, Steps: 2 * (n - 1)}}
}

// BenchmarkDiagnose measures one iteration of a ring all-reduce: the target of 100
// iterations of 1,024 ranks is 100 of these, one after the other in an Analyser's memory.
func BenchmarkDiagnose(b *testing.B) {
	for _, c := range []struct {
		name  string
		ranks int
	}{{"ranks=16/steps=30", 16}, {"ranks=1024/steps=2046", 1024}} {
		b.Run(c.name, func(b *testing.B) {
			ranks, communicators := ringRanks(c.ranks)
			steps := ringIteration(nil, c.ranks, c.ranks/3, 1e9)
			z := collective.NewAnalyser(collective.Options{})
			b.ReportAllocs()
			for b.Loop() {
				d := z.Diagnose(collective.Run{Ranks: ranks, Communicators: communicators, Steps: steps})
				if len(d.Culprits) != 1 || d.Culprits[0].Class != collective.Straggler {
					b.Fatal(d.Text)
				}
			}
		})
	}
}

// leafSpine is a fabric of four leaves (0-3) with five hosts each (8-27) and four spines
// (4-7); the fifth host of a leaf has no rank.
func leafSpine() network.Fabric {
	var f network.Fabric
	join := joiner(&f, 8, 28, 1000)
	for host := 8; host < 28; host++ {
		join(host, (host-8)/5)
	}
	for leaf := range 4 {
		for spine := 4; spine < 8; spine++ {
			join(leaf, spine)
		}
	}
	return f
}

// BenchmarkDiagnoseFabric measures one iteration of 16 ranks with the fabric, telemetry
// and background flows, one of which is into a rank's host; one rank is late.
func BenchmarkDiagnoseFabric(b *testing.B) {
	for _, c := range []struct {
		name    string
		steps   int
		program func(rank, step int) (int, int64)
	}{
		{"ring/steps=30", 30, func(rank, _ int) (int, int64) { return (rank + 1) % 16, 40_000_000 }},
		{"all-to-all/steps=15", 15, func(rank, step int) (int, int64) { return (rank + step) % 16, 40_000_000 }},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := newModel()
			m.fabric, m.ranks, m.steps, m.program = leafSpine(), nil, c.steps, c.program
			for host := 8; host < 28; host++ {
				if (host-8)%5 < 4 {
					m.ranks = append(m.ranks, host)
				}
			}
			m.delay[[2]int{5, 4}] = 60e6
			m.background(12, 17, 40e6, 16e6)
			m.background(22, 27, 80e6, 30e6)
			m.background(17, 20, 40e6, 90e6)
			run := m.run()
			z := collective.NewAnalyser(collective.Options{})
			b.ReportAllocs()
			before := cputime.Used(b)
			for b.Loop() {
				if d := z.Diagnose(run); !slices.ContainsFunc(d.Culprits, func(c collective.Culprit) bool { return c.Class == collective.Straggler }) {
					b.Fatal(d.Text)
				}
			}
			b.ReportMetric(float64((cputime.Used(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkDiagnoseParts diagnoses 100 iterations of an all-reduce of 1,024 ranks in
// 2,046 steps as one job, an iteration per part, and reports the CPU seconds of the
// diagnosis and the peak memory of the process. The records of a part are made on
// request, outside the measured time.
func BenchmarkDiagnoseParts(b *testing.B) {
	const ranks, iterations = 1024, 100
	names, communicators := ringRanks(ranks)
	var rooms [2][]collective.StepRecord
	length := int64(0)
	for _, r := range ringIteration(nil, ranks, ranks/3, 0) {
		length = max(length, r.EndNanos)
	}
	for b.Loop() {
		made := time.Duration(0)
		begun := cputime.Used(b)
		d := collective.NewAnalyser(collective.Options{}).DiagnoseParts(iterations, func(i int) collective.Run {
			b.StopTimer()
			before := cputime.Used(b)
			steps := ringIteration(rooms[i%2], ranks, ranks/3+i%2, 1e9+int64(i)*length)
			for j := range steps {
				steps[j].Iteration = int32(i)
			}
			rooms[i%2] = steps
			made += cputime.Used(b) - before
			b.StartTimer()
			return collective.Run{Ranks: names, Communicators: communicators, Steps: steps}
		})
		b.ReportMetric((cputime.Used(b) - begun - made).Seconds(), "cpu-s/job")
		if d.Iterations != iterations || len(d.Culprits) != 2 || d.MakespanNanos != iterations*length || d.Culprits[0].CostNanos != iterations/2*5_000_000 {
			b.Fatal(d.Text)
		}
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(usage.Maxrss)/1024, "MiB")
}
