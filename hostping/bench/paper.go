package bench

import (
	"fmt"
	"strings"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/simulated"
)

// PaperCase is one of the paper's twelve bottlenecks on its own topology (Fig. 2), and the result here.
type PaperCase struct {
	Name, Paper, Found string
	Outcome            Outcome
}

// Links of Fig. 2, as built by simulated.Machines.
const (
	fig2RNIC     = "pci:mlx5_1"
	fig2GPU      = "pci:gpu3"
	fig2Memory   = "memory:numa1"
	fig2UPI      = "bus:socket0-socket1"
	paperSeed    = 2023
	paperTraffic = 0.5
)

// PaperCases runs the cases of section 6.
func PaperCases() ([]PaperCase, error) {
	m := simulated.Machines()[0]
	g, err := hostping.ReadGraph(m.Name, []byte(m.XML()), hostping.Auto)
	if err != nil {
		return nil, err
	}
	s, err := NewSubject(m.Name, g, simulated.DefaultConfig())
	if err != nil {
		return nil, err
	}
	port := ""
	for _, l := range g.Links {
		if l.Kind == hostping.RootPort && port == "" {
			port = l.ID
		}
	}
	fault := func(b hostping.Bottleneck, link string, left float64) simulated.Fault {
		return simulated.Fault{Bottleneck: b, Link: link, Share: left}
	}
	overload := func(b hostping.Bottleneck, link string) simulated.Fault {
		f := fault(b, link, 0.25)
		f.Used, f.Processes = 0.97, []hostping.Consumer{{PID: 4711, Name: "memcpy", Share: 0.8}}
		return f
	}
	busy := map[string]float64{"mlx5_0": paperTraffic, "mlx5_2": paperTraffic}
	slow := simulated.Fault{Bottleneck: hostping.RNICSlowStart, RNIC: "mlx5_1", FirstGbps: 5, DoublingMicros: 10}
	window := simulated.Fault{Bottleneck: hostping.TxWindowTooSmall, RNIC: "mlx5_1", Share: 0.4}
	cases := []struct {
		name, paper string
		faults      []simulated.Fault
		busy        map[string]float64
		runs        []bool
	}{
		{"#1 RNIC PCIe link (Fig. 8a)", "RNIC PCIe link failed", []simulated.Fault{fault(hostping.RNICPCIeFailure, fig2RNIC, 0.4)}, nil, nil},
		{"#2, #3 GPU PCIe link and memory channel (Fig. 8b)", "both failed", []simulated.Fault{fault(hostping.GPUPCIeFailure, fig2GPU, 0.4), fault(hostping.MemoryChannelFailure, fig2Memory, 0.5)}, nil, nil},
		{"#2 with service traffic on RNIC2 (Fig. 10a)", "GPU PCIe link failed or misconfigured", []simulated.Fault{fault(hostping.GPUPCIeFailure, "pci:gpu4", 0.3)}, map[string]float64{"mlx5_2": paperTraffic}, nil},
		{"#4 UPI (Fig. 8c)", "UPI failed", []simulated.Fault{fault(hostping.InterSocketFailure, fig2UPI, 0.4)}, nil, nil},
		{"#5 CPU root port (Fig. 8d)", "root port failed", []simulated.Fault{fault(hostping.RootPortFailure, port, 0.4)}, nil, nil},
		{"#5 slight, other RNICs see nothing (Fig. 8e)", "root port failed", []simulated.Fault{fault(hostping.RootPortFailure, port, 0.68)}, nil, nil},
		{"#6 memory channel flapping (Fig. 9)", "found in the history", []simulated.Fault{fault(hostping.MemoryChannelFlapping, fig2Memory, 0.5)}, nil, []bool{false, true, false, true}},
		{"#7 ACS on all bridges (Fig. 8f)", "misconfiguration, such as ACS", []simulated.Fault{{Bottleneck: hostping.ACSEnabled}}, nil, nil},
		{"#8 ATS off", "misconfiguration, as #7", []simulated.Fault{{Bottleneck: hostping.ATSDisabled, RNIC: "mlx5_1"}}, nil, nil},
		{"#9 slow start", "RNIC PCIe link failed (wrong)", []simulated.Fault{slow}, nil, nil},
		{"#10 Tx window too small", "RNIC PCIe link failed (wrong)", []simulated.Fault{window}, nil, nil},
		{"#11 UPI overloaded, RNIC0 and RNIC2 busy (Fig. 10b)", "UPI overloaded", []simulated.Fault{overload(hostping.InterSocketOverloaded, fig2UPI)}, busy, nil},
		{"#12 memory channel overloaded, RNIC0 and RNIC2 busy (Fig. 10c)", "memory channel overloaded", []simulated.Fault{overload(hostping.MemoryChannelOverloaded, "memory:numa0")}, busy, nil},
	}
	var played []PaperCase
	for _, c := range cases {
		var o Outcome
		if c.runs != nil {
			o, err = s.PlayFlapping(paperSeed, c.faults[0], c.runs)
		} else {
			o, err = s.Play(paperSeed, c.faults, c.busy)
		}
		if err != nil {
			return nil, err
		}
		played = append(played, PaperCase{Name: c.name, Paper: c.paper, Found: found(&o), Outcome: o})
	}
	return played, nil
}

func found(o *Outcome) string {
	var texts []string
	for i := range o.Report.Verdicts {
		v := &o.Report.Verdicts[i]
		text := "`" + string(v.Bottleneck) + "`"
		if place := v.Link + v.RNIC; place != "" {
			if v.Link != "" {
				place = v.Link
			}
			text += " " + place
		}
		for _, c := range v.OverloadedBy {
			text += fmt.Sprintf(" by %s (%d)", c.Name, c.PID)
		}
		texts = append(texts, fmt.Sprintf("%s, %.2f", text, v.Confidence))
	}
	if len(texts) == 0 {
		return "nothing"
	}
	return strings.Join(texts, "; ")
}
