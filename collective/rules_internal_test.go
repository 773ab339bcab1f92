package collective

import (
	"strings"
	"testing"

	"github.com/giverny/giverny/collective/network"
)

// handmade is the evidence of two connected switches with two hosts
// each, of 25 Gb/s: rank 0 on host 2 sends to rank 1 on host 4 twice, for 10 ms.
func handmade(between int64, flow Flow, reports ...PortReport) *evidence {
	fabric := &network.Fabric{Nodes: []network.Node{{Name: "0", Switch: true}, {Name: "1", Switch: true}, {Name: "2", Switch: false}, {Name: "3", Switch: false}, {Name: "4", Switch: false}, {Name: "5", Switch: false}}}
	for i, at := range []int{0, 0, 1, 1} {
		fabric.Links = append(fabric.Links, network.Link{A: 2 + i, B: at, APort: 1, BPort: 1 + i%2, BitsPerSecond: 25e9})
	}
	fabric.Links = append(fabric.Links, network.Link{A: 0, B: 1, APort: 3, BPort: 3, BitsPerSecond: between})
	run := &Run{Fabric: fabric, Ranks: []Rank{{Node: "2", Host: 2}, {Node: "4", Host: 4}}, Flows: []Flow{flow}, Telemetry: reports}
	for i := range int64(2) {
		run.Steps = append(run.Steps, StepRecord{Step: int32(i + 1), Peer: 1, Bytes: 15e6, BeginNanos: i * 10e6, EndNanos: (i + 1) * 10e6, AwaitsStep: None})
	}
	t := newTable(run, defaultLimit, &scratch{}, nil)
	t.bounds()
	tr := newTraffic(t, newFabric(fabric, 0))
	return newEvidence(t, tr, &scratch{})
}

// A port that is full from the begin of a late flow is not a slow link.
func TestLoadCountsOverTheTimeOfTheFlows(t *testing.T) {
	report := PortReport{LastNanos: 10e6, Switch: 1, Port: 2, Packets: 1000, QueueSum: 5000}
	for begin, slow := range map[int64]bool{0: true, 8e6: false} {
		e := handmade(25e9, Flow{Source: 3, Destination: 5, Bytes: 6e6, BeginNanos: begin, EndNanos: 10e6}, report)
		if got := e.slowPort(network.Port{Node: 1, Port: 2}, 0, 10e6); got != slow {
			t.Errorf("a flow from %d ns on: slow %v, want %v", begin, got, slow)
		}
	}
}

// Flows do not contend at a link that is as fast as both senders together.
func TestFlowsThatFitTakeNothingOfEachOther(t *testing.T) {
	for rate, causes := range map[int64]int{25e9: 1, 50e9: 0} {
		e := handmade(rate, Flow{Source: 3, Destination: 5, Bytes: 15e6, EndNanos: 10e6})
		if got := e.contention(nil, 0, e.stream(0), true); len(got) != causes {
			t.Errorf("%d bit/s: %+v, want %d causes", rate, got, causes)
		}
	}
}

// Possible collisions are dropped if an earlier culprit took more than they did, or 3%
// of the makespan of 20 ms.
func TestPossibleCollisionsYield(t *testing.T) {
	for name, c := range map[string]struct {
		known, nanos int64
		step         int32 // of the collision
		confidence   float64
		stays        bool
	}{
		"less than the culprit": {500_000, 400_000, 1, 0.45, false},
		"culprit of 3%":         {700_000, 900_000, 1, 0.45, false},
		"culprit too small":     {500_000, 900_000, 1, 0.45, true},
		"certain":               {700_000, 400_000, 1, 0.9, true},
		"before the culprit":    {700_000, 400_000, 0, 0.45, true},
	} {
		a := newAnalysis(handmade(25e9, Flow{Source: 3, Destination: 5}))
		a.give(cause{who: "rank", class: Straggler, confidence: 0.9}, 1-c.step, c.known, true)
		a.give(cause{who: "collision", class: SelfCollision, flow: "2->4", confidence: c.confidence}, c.step, c.nanos, false)
		a.dropSubsequent()
		if got := len(a.shares["collision"]) > 0; got != c.stays || got == (len(a.noise) > 0) {
			t.Errorf("%s: stays %v, want %v; noise %v", name, got, c.stays, a.noise)
		}
	}
}

func TestTextSaysPossible(t *testing.T) {
	for confidence, want := range map[float64]bool{0.54: true, 0.55: false} {
		d := Diagnosis{Culprits: []Culprit{{Class: SelfCollision, Object: "switch 0 port 3", Confidence: confidence}}}
		if text := d.describe(&Run{}); strings.Contains(text, "\npossible self collision") != want {
			t.Errorf("confidence %v: %q", confidence, text)
		}
	}
}

// A port's load is computed from the packet size by sequence numbers, not from a
// default size.
func TestLoadCountsByTheSizeOfPackets(t *testing.T) {
	for payload, slow := range map[int64]bool{1300: true, 4096: false} {
		report := PortReport{LastNanos: 10e6, Switch: 1, Port: 2, Packets: 6000, QueueSum: 30000,
			Flows: []FlowReport{{Source: 2, Destination: 4, Collective: true, MaxSeq: 1000 * payload, Packets: 1001}}}
		e := handmade(25e9, Flow{Source: 3, Destination: 5, Bytes: 6e6, EndNanos: 10e6}, report)
		if got := e.slowPort(network.Port{Node: 1, Port: 2}, 0, 10e6); got != slow {
			t.Errorf("packets of %d bytes: slow %v, want %v", payload, got, slow)
		}
	}
}
