package collective

import (
	"fmt"
	"math"
	"testing"

	"github.com/giverny/giverny/collective/network"
)

// If every port of a fabric is paused, each root of a pause is named once, and each
// port is weighed once per time range.
func TestRootsWhereAllStands(t *testing.T) {
	const n = 4 // leaves, spines, and hosts of a leaf
	const hosts, leaves = 0, n * n
	const spines, nodes = leaves + n, leaves + 2*n
	fabric := &network.Fabric{}
	for i := range nodes {
		fabric.Nodes = append(fabric.Nodes, network.Node{Name: fmt.Sprint(i), Switch: i >= leaves})
	}
	for host := range n * n {
		fabric.Links = append(fabric.Links, network.Link{A: hosts + host, B: leaves + host/n, APort: 1, BPort: 1 + host%n, BitsPerSecond: 25e9})
	}
	for leaf := range n {
		for spine := range n {
			fabric.Links = append(fabric.Links, network.Link{A: leaves + leaf, B: spines + spine, APort: n + 1 + spine, BPort: 1 + leaf, BitsPerSecond: 25e9})
		}
	}
	run := &Run{Fabric: fabric, Ranks: []Rank{{Node: "0", Host: 0}, {Node: "5", Host: 5}},
		Steps: []StepRecord{{Step: 1, Peer: 1, Bytes: 15e6, EndNanos: 10e6, AwaitsStep: None}}}
	for _, l := range fabric.Links {
		run.Pauses = append(run.Pauses, Pause{Node: l.A, Port: l.APort}, Pause{Node: l.B, Port: l.BPort})
	}
	for from := range n * n {
		for to := range n * n {
			if from != to {
				run.Flows = append(run.Flows, Flow{Source: from, Destination: to, Bytes: 1e6, EndNanos: 10e6})
			}
		}
	}
	table := newTable(run, defaultLimit, &scratch{}, nil)
	table.bounds()
	e := newEvidence(table, newTraffic(table, newFabric(fabric, 0)), &scratch{})
	seen, sum := map[network.Port]bool{}, 0.0
	for _, o := range e.pauses.origins(network.Port{Node: 0, Port: 1}, 0, 10e6) {
		if seen[o.at] {
			t.Errorf("port %v is a root twice", o.at)
		}
		seen[o.at] = true
		sum += o.score
	}
	if len(seen) != (n-1)*n || sum < 0.99 || sum > 1.01 {
		t.Errorf("%d roots with %.3f of the pause; want the hosts of the other leaves with all of it", len(seen), sum)
	}
}

// What a pause owes to an exit that is left out as too small goes to the others.
func TestScoresOfAPauseSumToOne(t *testing.T) {
	const in, relay, victim = 1, 4, 0 // the switch's port to host 0
	fabric := &network.Fabric{}
	for host := range relay {
		fabric.Nodes = append(fabric.Nodes, network.Node{Name: fmt.Sprint(host), Switch: false})
		fabric.Links = append(fabric.Links, network.Link{A: host, B: relay, APort: 1, BPort: in + host, BitsPerSecond: 25e9})
	}
	fabric.Nodes = append(fabric.Nodes, network.Node{Name: fmt.Sprint(relay), Switch: true})
	run := &Run{Fabric: fabric, Ranks: []Rank{{Node: "0", Host: 0}, {Node: "1", Host: 1}},
		Steps:  []StepRecord{{Step: 1, Peer: 1, Bytes: 15e6, EndNanos: 10e6, AwaitsStep: None}},
		Pauses: []Pause{{Node: victim, Port: 1}}}
	for host, bytes := range map[int]int64{1: 3e6, 2: 1e6, 3: 2e5} {
		run.Telemetry = append(run.Telemetry, PortReport{Record: host, TimeNanos: 5e6, LastNanos: 5e6, Switch: relay, Port: in + host,
			Signal: true, In: in, MeterBytes: bytes, Packets: 100, QueueSum: 1000})
	}
	table := newTable(run, defaultLimit, &scratch{}, nil)
	table.bounds()
	e := newEvidence(table, newTraffic(table, newFabric(fabric, 0)), &scratch{})
	got := map[network.Port]float64{}
	for _, o := range e.pauses.origins(network.Port{Node: victim, Port: 1}, 0, 10e6) {
		got[o.at] = o.score
	}
	want := map[network.Port]float64{{Node: relay, Port: in + 1}: .75, {Node: relay, Port: in + 2}: .25}
	for at, score := range want {
		if math.Abs(got[at]-score) > 1e-9 || len(got) != len(want) {
			t.Errorf("%v, want %v: the exit to host 3 is below a tenth of the largest", got, want)
		}
	}
}
