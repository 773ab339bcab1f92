package collective_test

import (
	"math"
	"math/rand"
	"strconv"
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/network"
	"github.com/giverny/giverny/collective/report"
)

// With meaningless numbers, clocks at the ends of time, and nonexistent ranks and
// nodes, the diagnosis ends, its path is contiguous, and a report can be made of it.
func TestHostileRecords(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	odd := func(n int) int {
		return []int{r.Intn(n), r.Intn(n), r.Intn(n), -1, n, math.MaxInt32, math.MinInt32}[r.Intn(7)]
	}
	at := func() int64 {
		return []int64{r.Int63n(1e9), r.Int63n(1e9), r.Int63n(1e9), 0, -5, math.MaxInt64 / 4, 3600e9 * r.Int63n(10)}[r.Intn(7)]
	}
	for range 3000 {
		run := hostileRun(r, odd, at)
		d := collective.Diagnose(run, collective.Options{})
		for i, s := range d.CriticalPath {
			if s.EndNanos < s.BeginNanos || i > 0 && d.CriticalPath[i-1].EndNanos != s.BeginNanos {
				t.Fatalf("segment %d of %+v", i, d.CriticalPath)
			}
		}
		devices := make([][]string, len(run.Ranks))
		rep, err := report.New(run, d, report.Meta{Job: "x", Begin: 1, Devices: devices})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range rep.Losses {
			if l.Culprit >= len(d.Culprits) || l.Way >= len(rep.Ways) {
				t.Fatalf("loss %+v", l)
			}
		}
	}
}

func hostileRun(r *rand.Rand, odd func(int) int, at func() int64) collective.Run {
	ranks := 1 + r.Intn(5)
	run := collective.Run{}
	for i := range ranks {
		run.Ranks = append(run.Ranks, collective.Rank{Node: strconv.Itoa(i / (1 + r.Intn(2))), Host: odd(ranks)})
	}
	algorithms := []collective.Algorithm{collective.Ring, collective.HalvingDoubling, collective.Tree, collective.Direct, collective.Custom, "odd"}
	for range r.Intn(3) {
		run.Communicators = append(run.Communicators, collective.Communicator{Members: r.Perm(ranks), Algorithm: algorithms[r.Intn(len(algorithms))], Steps: odd(4)})
	}
	for range r.Intn(40) {
		run.Steps = append(run.Steps, collective.StepRecord{Communicator: int32(odd(2)), Iteration: int32(odd(3)), Channel: int32(odd(2)), Chunk: int32(odd(2)), Step: int32(odd(5)), Rank: int32(odd(ranks)), Peer: int32(odd(ranks)),
			AwaitsRank: int32(odd(ranks)), AwaitsStep: int32(odd(5)), Bytes: at(), BeginNanos: at(), EndNanos: at(), AloneNanos: at()})
	}
	if r.Intn(2) == 0 {
		return run
	}
	f := &network.Fabric{}
	for i := range ranks + 2 {
		f.Nodes = append(f.Nodes, network.Node{Name: strconv.Itoa(i), Switch: i >= ranks})
	}
	for i := range ranks {
		f.Links = append(f.Links, network.Link{A: i, B: ranks + r.Intn(2), APort: 1, BPort: 1 + i, BitsPerSecond: at()})
	}
	f.Links = append(f.Links, network.Link{A: ranks, B: ranks + 1, APort: 9, BPort: 9, BitsPerSecond: 25e9}, network.Link{A: odd(ranks), B: odd(ranks), APort: odd(3), BPort: odd(3)})
	run.Fabric = f
	for range r.Intn(6) {
		run.Flows = append(run.Flows, collective.Flow{Source: odd(ranks), Destination: odd(ranks), Bytes: at(), BeginNanos: at(), EndNanos: at()})
		run.Pauses = append(run.Pauses, collective.Pause{TimeNanos: at(), Node: odd(ranks + 2), Port: odd(9), Resume: r.Intn(2) == 0})
		run.Paths = append(run.Paths, collective.Path{Source: odd(ranks), Destination: odd(ranks), Ports: []network.Port{{Node: odd(ranks + 2), Port: odd(9)}}})
		p := collective.PortReport{Record: odd(3), TimeNanos: at(), EpochNanos: at(), LastNanos: at(), Switch: odd(ranks + 2), Port: odd(9), Signal: r.Intn(2) == 0, In: odd(9), MeterBytes: at(), Packets: at(), QueueSum: at(), Paused: at()}
		for range r.Intn(3) {
			p.Flows = append(p.Flows, collective.FlowReport{Source: odd(ranks), Destination: odd(ranks), Collective: r.Intn(2) == 0, MinSeq: at(), MaxSeq: at(), Packets: at(), QueueSum: at(), Paused: at()})
		}
		run.Telemetry = append(run.Telemetry, p)
	}
	return run
}
