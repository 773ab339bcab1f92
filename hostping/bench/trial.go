// Package bench measures how often hostping is right. The input is a topology, a kind of fault and a seed; the output is
// whether the fault was named, with its link, and what else was. Hosts are simulated; the analysis sees only probes.
package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/run"
	"github.com/giverny/giverny/hostping/simulated"
)

// Subject is a host model with its baseline.
type Subject struct {
	Name     string
	Graph    hostping.Graph
	Baseline hostping.Baseline
	Config   simulated.Config
}

// baselineHosts is how many hosts of a model are measured for the baseline.
const baselineHosts = 3

// NewSubject measures the baseline of a graph.
func NewSubject(name string, g hostping.Graph, cfg simulated.Config) (*Subject, error) {
	s := &Subject{Name: name, Graph: g, Config: cfg}
	for seed := range uint64(baselineHosts) {
		host := simulated.New(cfg, g, 1_000_000+seed)
		b, _, err := run.TakeBaseline(context.Background(), run.Options{Graph: g, Prober: run.Simulated{Host: host}})
		if err != nil {
			return nil, err
		}
		if seed > 0 {
			if b, err = s.Baseline.Merge(&b); err != nil {
				return nil, err
			}
		}
		s.Baseline = b
	}
	return s, nil
}

// Subjects returns the simulated machines.
func Subjects(cfg simulated.Config) ([]*Subject, error) {
	var all []*Subject
	for _, m := range simulated.Machines() {
		g, err := hostping.ReadGraph(m.Name, []byte(m.XML()), hostping.Auto)
		if err != nil {
			return nil, err
		}
		s, err := NewSubject(m.Name, g, cfg)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Outcome of a trial.
type Outcome struct {
	Faults     []simulated.Fault
	Report     hostping.Report
	Named      int  // faults named with the right link, RNIC or endpoint
	Extra      int  // verdicts of faults that do not exist
	Right      bool // all named, and nothing else
	Confidence []Sample
}

// Sample is a verdict's confidence and whether it was right.
type Sample struct {
	Confidence float64
	Right      bool
}

// Play runs a host with faults once. busy gives RNICs without faults a share of service traffic.
func (s *Subject) Play(seed uint64, faults []simulated.Fault, busy map[string]float64) (Outcome, error) {
	host := simulated.New(s.Config, s.Graph, seed)
	for _, f := range faults {
		host.Inject(f)
	}
	for rnic, share := range busy {
		host.SetBusy(rnic, share)
	}
	report, err := run.Run(context.Background(), run.Options{Graph: s.Graph, Baseline: s.Baseline, Prober: run.Simulated{Host: host}, Now: epoch})
	return score(report, faults), err
}

func epoch() time.Time { return time.Unix(0, 0) }

// PlayFlapping runs a host whose memory channel is bad in some runs, and scores the last.
func (s *Subject) PlayFlapping(seed uint64, f simulated.Fault, bad []bool) (Outcome, error) {
	history := &hostping.History{Version: hostping.HistoryVersion}
	var report hostping.Report
	for i, isBad := range bad {
		host := simulated.New(s.Config, s.Graph, seed*1000+uint64(i))
		if isBad {
			host.Inject(f)
		}
		var err error
		if report, err = run.Run(context.Background(), run.Options{Graph: s.Graph, Baseline: s.Baseline, Prober: run.Simulated{Host: host}, History: history, Now: epoch}); err != nil {
			return Outcome{}, err
		}
	}
	return score(report, []simulated.Fault{f}), nil
}

// score compares a report with the truth.
func score(report hostping.Report, faults []simulated.Fault) Outcome {
	o := Outcome{Faults: faults, Report: report}
	used := make([]bool, len(faults))
	for i := range report.Verdicts {
		v := &report.Verdicts[i]
		at := -1
		for k, f := range faults {
			if !used[k] && matches(v, &f) {
				at = k
				break
			}
		}
		if at < 0 {
			o.Extra++
		} else {
			used[at] = true
			o.Named++
		}
		o.Confidence = append(o.Confidence, Sample{v.Confidence, at >= 0})
	}
	o.Right = o.Named == len(faults) && o.Extra == 0
	return o
}

// matches reports whether a verdict names a fault and its place.
func matches(v *hostping.Verdict, f *simulated.Fault) bool {
	if v.Bottleneck != f.Bottleneck {
		return false
	}
	switch f.Bottleneck {
	case hostping.ACSEnabled:
		return true
	case hostping.ATSDisabled, hostping.RNICSlowStart, hostping.TxWindowTooSmall:
		return v.RNIC == f.RNIC
	}
	return v.Link == f.Link
}

// String describes the outcome for the list of wrong ones.
func (o *Outcome) String() string {
	text := ""
	for _, f := range o.Faults {
		text += fmt.Sprintf("[%s %s%s %.2f] ", f.Bottleneck, f.Link, f.RNIC, f.Share)
	}
	text += "->"
	for _, v := range o.Report.Verdicts {
		text += fmt.Sprintf(" [%s %s%s %.2f %v]", v.Bottleneck, v.Link, v.RNIC, v.Confidence, v.Evidence.Abnormal)
	}
	return text
}

// Kinds are the twelve bottlenecks, in the paper's order.
var Kinds = []hostping.Bottleneck{
	hostping.RNICPCIeFailure, hostping.GPUPCIeFailure, hostping.MemoryChannelFailure, hostping.InterSocketFailure, hostping.RootPortFailure, hostping.MemoryChannelFlapping,
	hostping.ACSEnabled, hostping.ATSDisabled, hostping.RNICSlowStart, hostping.TxWindowTooSmall, hostping.InterSocketOverloaded, hostping.MemoryChannelOverloaded,
}

// Draw returns a fault of a kind at a random place, with a random strength beyond the threshold; ok is false if a
// host has no place for it, or no probe could show it.
func (s *Subject) Draw(kind hostping.Bottleneck, random *rand.Rand) (f simulated.Fault, ok bool) {
	f = simulated.Fault{Bottleneck: kind, Share: 0.25 + 0.45*random.Float64()}
	var places []string
	switch kind {
	case hostping.RNICPCIeFailure, hostping.RNICSlowStart, hostping.TxWindowTooSmall, hostping.ATSDisabled:
		for _, r := range s.Graph.RNICs {
			if kind != hostping.ATSDisabled || s.hasGPU(r.ID) && len(s.Graph.RNICs) > 1 {
				places = append(places, r.ID)
			}
		}
	case hostping.ACSEnabled:
		places = append(places, "")
	default:
		places = s.links(kind)
	}
	if len(places) == 0 {
		return f, false
	}
	place := places[random.IntN(len(places))]
	switch kind {
	case hostping.RNICPCIeFailure:
		f.Link = s.rnicLink(place)
	case hostping.RNICSlowStart:
		f.RNIC, f.FirstGbps, f.DoublingMicros = place, 2+10*random.Float64(), 4+40*random.Float64()
	case hostping.TxWindowTooSmall, hostping.ATSDisabled:
		f.RNIC = place
	default:
		f.Link = place
	}
	if kind == hostping.InterSocketOverloaded || kind == hostping.MemoryChannelOverloaded {
		f.Used = 0.91 + 0.09*random.Float64()
		f.Processes = []hostping.Consumer{{PID: 4711, Name: "trainer", Share: 0.6}, {PID: 12, Name: "copy", Share: 0.2}}
	}
	return f, s.visible(&f)
}

func (s *Subject) hasGPU(rnic string) bool {
	return slices.ContainsFunc(s.Graph.Affinitive[rnic], func(id string) bool { return id[0] == 'g' })
}

func (s *Subject) rnicLink(rnic string) string {
	for _, p := range s.Graph.Paths {
		if p.RNIC == rnic {
			return p.Links[0]
		}
	}
	return ""
}

// links lists the places for a kind of link fault.
func (s *Subject) links(kind hostping.Bottleneck) (ids []string) {
	for _, l := range s.Graph.Links {
		isGPU := slices.ContainsFunc(s.Graph.Endpoints, func(e hostping.Endpoint) bool { return e.Kind == hostping.GPU && e.ID == l.B })
		isRNIC := slices.ContainsFunc(s.Graph.RNICs, func(r hostping.RNIC) bool { return r.ID == l.B })
		want := false
		switch kind {
		case hostping.GPUPCIeFailure:
			want = isGPU
		case hostping.RootPortFailure:
			want = l.Kind == hostping.RootPort && !isGPU && !isRNIC
		case hostping.InterSocketFailure, hostping.InterSocketOverloaded:
			want = l.Kind == hostping.InterSocket
		default:
			want = l.Kind == hostping.Memory
		}
		if want {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// visible reports whether a degraded link brings some path below three quarters of its baseline.
func (s *Subject) visible(f *simulated.Fault) bool {
	if f.Link == "" || f.Share == 0 {
		return true
	}
	return slices.ContainsFunc(s.Baseline.Pairs, func(p hostping.PairBaseline) bool {
		_, gbps := p.Typical()
		return slices.Contains(p.Links, f.Link) && f.Share*s.Config.LineGbps < 0.75*gbps
	})
}

// Separable reports whether both faults are visible: not on the same link or RNIC, and not ATS with ACS on the whole
// host, which have the same effect.
func (s *Subject) Separable(a, b *simulated.Fault) bool {
	rnic := func(f *simulated.Fault) string {
		if f.Bottleneck == hostping.RNICPCIeFailure {
			return f.Link[len("pci:"):]
		}
		return f.RNIC
	}
	gpuSide := func(f *simulated.Fault) bool {
		return f.Bottleneck == hostping.ACSEnabled || f.Bottleneck == hostping.ATSDisabled
	}
	if gpuSide(a) && gpuSide(b) {
		return a.Bottleneck == b.Bottleneck && a.RNIC != b.RNIC
	}
	return (a.Link == "" || a.Link != b.Link) && (rnic(a) == "" || rnic(a) != rnic(b))
}
