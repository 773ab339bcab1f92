package dashboards

import (
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/schema"
)

// aCollective is two iterations of a ring of two ranks on switches 0,0 and 2,0, in the second interval. The transfer from
// 0,0, over the links of the region, lasts 5 ms longer in each.
func aCollective(t testing.TB) []report.Published {
	t.Helper()
	const step = 10_000_000
	run := collective.Run{Ranks: []collective.Rank{{Node: "0,0", Host: collective.None}, {Node: "2,0", Host: collective.None}},
		Communicators: []collective.Communicator{{Members: []int{0, 1}, Algorithm: collective.Ring, Steps: 2}}}
	at := noon + second
	for iteration := range int32(2) {
		for s := int32(1); s <= 2; s++ {
			for rank := range int32(2) {
				r := collective.StepRecord{Iteration: iteration, Step: s, Rank: rank, Peer: 1 - rank, Bytes: 1 << 20, AwaitsRank: 1 - rank, AwaitsStep: s - 1,
					BeginNanos: at, EndNanos: at + step, AloneNanos: step}
				if s == 1 {
					r.AwaitsStep = collective.None
				}
				if rank == 0 && s == 1 {
					r.EndNanos += step / 2
				}
				run.Steps = append(run.Steps, r)
			}
			if at += step; s == 1 {
				at += step / 2
			}
		}
	}
	d := collective.Diagnose(run, collective.Options{})
	r, err := report.New(run, d, report.Meta{Job: "17", Format: "simulated", Devices: [][]string{{"0,0"}, {"2,0"}}})
	if err != nil {
		t.Fatal(err)
	}
	return []report.Published{{RunID: r.ID(), Agent: "n1", Time: schema.Instant(noon + 60*second), Report: r}}
}
