package collective_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/network"
)

// The notes say what a diagnosis did not use, how much and why, also if it is diagnosed
// in parts.
func TestWhatIsLeftOutIsSaid(t *testing.T) {
	const iterations, tooMany = 8, 3
	for _, limit := range []int{0, 12} {
		run := pairRun(iterations)
		run.Steps[3].Rank = 9
		run.Steps[4].EndNanos = run.Steps[4].BeginNanos - 1
		run.Pauses = []collective.Pause{{TimeNanos: 1, Node: 99, Port: 1}}
		for i := range 4096 + tooMany {
			run.Flows = append(run.Flows, collective.Flow{Source: 2, Destination: 3, SourcePort: i + 1, Bytes: 1, BeginNanos: 1, EndNanos: 2})
		}
		d := collective.Diagnose(run, collective.Options{Limit: limit})
		for _, note := range []string{
			"2 step records belong to no rank or end before they begin and were dropped",
			"1 flows, paths, pauses, reports and links were dropped: they name nodes that are not in the fabric, or have impossible values",
			fmt.Sprintf("%d flows beside the collective's are over the limit of 4096 and were dropped", tooMany),
		} {
			if !slices.Contains(d.Notes, note) {
				t.Errorf("limit %d: no note %q among %q", limit, note, d.Notes)
			}
		}
	}
}

// Records before the first collective belong to none.
func TestRecordsBeforeTheFirstCollective(t *testing.T) {
	run := pairRun(2)
	for i := range run.Steps {
		run.Steps[i].Iteration -= 2
	}
	if d := collective.Diagnose(run, collective.Options{}); d.MakespanNanos != 0 || d.Iterations != 0 || len(d.Notes) != 1 {
		t.Errorf("%+v", d)
	}
}

// pairRun has two ranks on hosts 0 and 1, which exchange data in two steps over a
// switch with two more hosts.
func pairRun(iterations int) collective.Run {
	run := collective.Run{
		Ranks:         []collective.Rank{{Node: "a", Host: 0}, {Node: "b", Host: 1}},
		Communicators: []collective.Communicator{{Members: []int{0, 1}, Operation: collective.AllReduce, Algorithm: collective.Ring}},
		Fabric:        &network.Fabric{Nodes: []network.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "s", Switch: true}}},
	}
	for host := range 4 {
		run.Fabric.Links = append(run.Fabric.Links, network.Link{A: host, B: 4, APort: 1, BPort: host + 1, BitsPerSecond: 100e9})
	}
	for i := range iterations {
		for step := range 2 {
			for rank := range 2 {
				begin := int64(1000 + 1_000_000*(2*i+step))
				r := collective.StepRecord{Iteration: int32(i), Step: int32(step + 1), Rank: int32(rank), Peer: int32(1 - rank), AwaitsRank: collective.None, AwaitsStep: collective.None,
					Bytes: 1 << 20, BeginNanos: begin, EndNanos: begin + 900_000}
				if step > 0 {
					r.AwaitsRank, r.AwaitsStep = int32(1-rank), 1
				}
				run.Steps = append(run.Steps, r)
			}
		}
	}
	return run
}
