package collective

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/collective/network"
)

// What refers to nothing, or has impossible numbers, is left out and counted; the sound rest stays.
func TestUsable(t *testing.T) {
	link := network.Link{A: 0, B: 1, APort: 1, BPort: 1, BitsPerSecond: 1e9}
	flow := Flow{Source: 0, Destination: 1, Bytes: 1}
	path := Path{Source: 0, Destination: 1, Ports: []network.Port{{Node: 2, Port: 1}}}
	pause := Pause{Node: 2, Port: 1}
	through := FlowReport{Source: 0, Destination: 1, MinSeq: 1, MaxSeq: 1}
	port := PortReport{Switch: 2, Port: 1, Flows: []FlowReport{through}}

	unusable := func(name string, bad Run) {
		t.Run(name, func(t *testing.T) {
			run := Run{
				Fabric: &network.Fabric{Nodes: make([]network.Node, 3), Links: append(bad.Fabric.Links, link)},
				Flows:  append(bad.Flows, flow), Paths: append(bad.Paths, path),
				Pauses: append(bad.Pauses, pause), Telemetry: append(bad.Telemetry, port),
			}
			kept, left := usable(&run)
			if left != 1 || len(kept.Fabric.Links) != 1 || len(kept.Flows) != 1 || len(kept.Paths) != 1 || len(kept.Pauses) != 1 || len(kept.Telemetry) != 1 {
				t.Errorf("%d left out: %d links, %d flows, %d paths, %d pauses, %d reports kept", left, len(kept.Fabric.Links),
					len(kept.Flows), len(kept.Paths), len(kept.Pauses), len(kept.Telemetry))
			}
			if again, left := usable(kept); left != 0 || len(again.Flows) != 1 {
				t.Errorf("%d left out of what is usable", left)
			}
		})
	}
	none := func() *network.Fabric { return &network.Fabric{} }
	for name, spoil := range map[string]func(*network.Link){
		"link from nowhere": func(l *network.Link) { l.A = None }, "link to nowhere": func(l *network.Link) { l.B = 3 },
		"link to itself": func(l *network.Link) { l.B = l.A }, "link without port": func(l *network.Link) { l.APort = 0 },
		"link without far port": func(l *network.Link) { l.BPort = 0 }, "link rate": func(l *network.Link) { l.BitsPerSecond = -1 },
	} {
		bad := link
		spoil(&bad)
		unusable(name, Run{Fabric: &network.Fabric{Links: []network.Link{bad}}})
	}
	for name, spoil := range map[string]func(*Flow){
		"flow from nowhere": func(f *Flow) { f.Source = None }, "flow to nowhere": func(f *Flow) { f.Destination = 3 },
		"flow of negative size": func(f *Flow) { f.Bytes = -1 },
	} {
		bad := flow
		spoil(&bad)
		unusable(name, Run{Fabric: none(), Flows: []Flow{bad}})
	}
	for name, spoil := range map[string]func(*Path){
		"path from nowhere": func(p *Path) { p.Source = None }, "path to nowhere": func(p *Path) { p.Destination = 3 },
		"path over nowhere": func(p *Path) { p.Ports = []network.Port{{Node: 2, Port: 1}, {Node: 3, Port: 1}} },
	} {
		bad := path
		spoil(&bad)
		unusable(name, Run{Fabric: none(), Paths: []Path{bad}})
	}
	for name, spoil := range map[string]func(*Pause){
		"pause nowhere": func(p *Pause) { p.Node = 3 }, "pause without port": func(p *Pause) { p.Port = 0 },
	} {
		bad := pause
		spoil(&bad)
		unusable(name, Run{Fabric: none(), Pauses: []Pause{bad}})
	}
	for name, spoil := range map[string]func(*PortReport, *FlowReport){
		"report from nowhere":        func(p *PortReport, _ *FlowReport) { p.Switch = None },
		"report without port":        func(p *PortReport, _ *FlowReport) { p.Port = 0 },
		"report of negative entry":   func(p *PortReport, _ *FlowReport) { p.In = -1 },
		"negative packets":           func(p *PortReport, _ *FlowReport) { p.Packets = -1 },
		"negative queue":             func(p *PortReport, _ *FlowReport) { p.QueueSum = -1 },
		"negative pauses":            func(p *PortReport, _ *FlowReport) { p.Paused = -1 },
		"negative meter":             func(p *PortReport, _ *FlowReport) { p.MeterBytes = -1 },
		"flow report from nowhere":   func(_ *PortReport, f *FlowReport) { f.Source = None },
		"flow report to nowhere":     func(_ *PortReport, f *FlowReport) { f.Destination = 3 },
		"flow's negative packets":    func(_ *PortReport, f *FlowReport) { f.Packets = -1 },
		"flow's negative queue":      func(_ *PortReport, f *FlowReport) { f.QueueSum = -1 },
		"flow's negative pauses":     func(_ *PortReport, f *FlowReport) { f.Paused = -1 },
		"flow's negative sequence":   func(_ *PortReport, f *FlowReport) { f.MinSeq = -1 },
		"flow's sequence in reverse": func(_ *PortReport, f *FlowReport) { f.MaxSeq = 0 },
	} {
		bad, of := port, through
		spoil(&bad, &of)
		bad.Flows = []FlowReport{through, of}
		unusable(name, Run{Fabric: none(), Telemetry: []PortReport{bad}})
	}
}

// A rank on a host that the fabric lacks has none; a communicator of unknown ranks takes all with it, as the steps
// name communicators by their index.
func TestUsableRanks(t *testing.T) {
	run := Run{
		Fabric: &network.Fabric{Nodes: make([]network.Node, 2)}, Ranks: []Rank{{Host: 1}, {Host: 2}, {Host: None}},
		Communicators: []Communicator{{Members: []int{0, 1}}, {Members: []int{0, 3}}},
	}
	kept, left := usable(&run)
	hosts := []int{kept.Ranks[0].Host, kept.Ranks[1].Host, kept.Ranks[2].Host}
	if left != 0 || !slices.Equal(hosts, []int{1, None, None}) || kept.Communicators != nil {
		t.Errorf("%d left out, hosts %v, communicators %v", left, hosts, kept.Communicators)
	}
	if run.Ranks[1].Host != 2 {
		t.Error("the run itself changed")
	}
}

// A step that ends before it begins is no finished one.
func TestLastOf(t *testing.T) {
	last := lastOf([]StepRecord{
		{Rank: 0, Step: 0, BeginNanos: 1, EndNanos: 2}, {Rank: 0, Step: 1, BeginNanos: 4, EndNanos: 3}, {Rank: 0, Step: 2, BeginNanos: 4},
		{Rank: 1, Channel: 1, Step: 0, BeginNanos: 1, EndNanos: 2}, {Rank: 1, Channel: 1, Step: 1, BeginNanos: 4, EndNanos: 3},
	})
	if len(last) != 2 {
		t.Errorf("%d chains, want 2", len(last))
	}
	for c, r := range last {
		if r.Step != 0 {
			t.Errorf("%+v ends with step %d, want 0", c, r.Step)
		}
	}
}
