package collective_test

import (
	"testing"

	"github.com/giverny/giverny/collective"
)

// A host off the collective's path that pauses its switch is found from PFC frames
// alone: among the ports that packets may take, the paused ones count.
func TestPausesAreFollowedByFramesAlone(t *testing.T) {
	fabric := leafSpine()
	hosts := []int{8, 13, 18, 23} // one below each leaf
	var ranks []collective.Rank
	for _, host := range hosts {
		ranks = append(ranks, collective.Rank{Node: fabric.Nodes[host].Name, Host: host})
	}
	const healthy, slow = 13_280_000, 20_000_000
	run := collective.Run{Ranks: ranks, Fabric: &fabric, Communicators: []collective.Communicator{{Members: []int{0, 1, 2, 3}}}}
	ends := make([]int64, len(ranks))
	for step := int32(1); step <= 6; step++ {
		before := append([]int64(nil), ends...)
		for rank := range ranks {
			from := (rank + len(ranks) - 1) % len(ranks)
			begin, lasts := max(before[rank], before[from]), int64(healthy)
			if rank == 0 && step == 2 {
				lasts = slow
			}
			s := collective.StepRecord{Step: step, Rank: int32(rank), Peer: int32((rank + 1) % len(ranks)), Bytes: 40_000_000, BeginNanos: begin, EndNanos: begin + lasts,
				AwaitsRank: int32(from), AwaitsStep: step - 1}
			if step == 1 {
				s.AwaitsStep = collective.None
			}
			run.Steps = append(run.Steps, s)
			ends[rank] = begin + lasts
		}
	}
	run.Flows = []collective.Flow{{Source: 9, Destination: 15, Bytes: 2_000_000, BeginNanos: healthy, EndNanos: healthy + slow}}
	// Host 15 pauses leaf 1, which pauses spine 5, and so on back to host 8.
	for _, at := range [][2]int{{1, 3}, {5, 2}, {0, 7}, {8, 1}} {
		for i := range int64(10) {
			begin := healthy + i*2_000_000
			run.Pauses = append(run.Pauses, collective.Pause{TimeNanos: begin, Node: at[0], Port: at[1]}, collective.Pause{TimeNanos: begin + 670_000, Node: at[0], Port: at[1], Resume: true})
		}
	}
	d := collective.Diagnose(run, collective.Options{})
	if len(d.Culprits) == 0 || d.Culprits[0].Class != collective.SlowHost || d.Culprits[0].Object != "host 15" {
		t.Errorf("want slow_host at host 15:\n%s", d.Text)
	}
}
