package hostping_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/simulated"
)

// measure probes all pairs of a host once.
func measure(h *simulated.Host, g *hostping.Graph) (all []hostping.Measured) {
	for _, p := range g.Paths {
		small := h.Probe(hostping.Probe{Pair: p.Pair, Bytes: hostping.SmallBytes, QPs: 1, Repeat: 15})
		large := h.Probe(hostping.Probe{Pair: p.Pair, Bytes: hostping.LargeBytes, QPs: 1, Repeat: 15})
		all = append(all, hostping.Measure(p.Pair, small.LatencyMicros, large.LatencyMicros, hostping.LargeBytes))
	}
	return all
}

func baselineOf(t testing.TB, g *hostping.Graph) hostping.Baseline {
	t.Helper()
	b, err := hostping.NewBaseline(g, hostping.LargeBytes, measure(simulated.New(simulated.DefaultConfig(), *g, 1), g))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func host(g *hostping.Graph, faults ...simulated.Fault) *simulated.Host {
	h := simulated.New(simulated.DefaultConfig(), *g, 2)
	for _, f := range faults {
		h.Inject(f)
	}
	return h
}

func analyse(t testing.TB, g *hostping.Graph, h *simulated.Host) hostping.Analysis {
	return hostping.Analyse(hostping.Input{Graph: *g, Baseline: baselineOf(t, g), Measured: measure(h, g), Utilisation: h.Utilisation()})
}

// A verdict names abnormal pairs that cross its link, and clears the other links of these by pairs that do not.
func TestEvidence(t *testing.T) {
	g := machine(t, "fig2")
	a := analyse(t, &g, host(&g, simulated.Fault{Bottleneck: hostping.MemoryChannelFailure, Link: "memory:numa1", Share: 0.5}))
	if len(a.Report.Verdicts) != 1 {
		t.Fatalf("verdicts: %+v", a.Report.Verdicts)
	}
	v := a.Report.Verdicts[0]
	if v.Bottleneck != hostping.MemoryChannelFailure || v.Link != "memory:numa1" || v.Endpoint != "numa1" || v.RNIC != "" {
		t.Errorf("verdict %s %s %s %s", v.Bottleneck, v.Link, v.Endpoint, v.RNIC)
	}
	if want := [][2]string{{"mlx5_0", "numa1"}, {"mlx5_1", "numa1"}, {"mlx5_2", "numa1"}, {"mlx5_3", "numa1"}}; !slices.Equal(v.Evidence.Abnormal, want) {
		t.Errorf("abnormal %v, want %v", v.Evidence.Abnormal, want)
	}
	for _, link := range []string{"bus:socket0-socket1", "pci:mlx5_0", "pci:switch-0000:01:00.0"} {
		by, ok := v.Evidence.Cleared[link]
		if !ok || !slices.Contains(strings.Fields(links(&g, by[0], by[1])), link) || by[1] == "numa1" {
			t.Errorf("%s is cleared by %v", link, by)
		}
	}
	if !strings.Contains(v.Text, "memory channel of numa1 at 5") || !strings.Contains(v.Text, "cleared: ") {
		t.Errorf("text %q", v.Text)
	}
}

// An RNIC that paces its packets is slower by the same factor on routes through the root complex, which are slow
// anyway: if it is the host's only RNIC, no GPU's link is accused.
func TestSlowStartOfTheOnlyRNIC(t *testing.T) {
	g := machine(t, "fig2")
	g.RNICs = g.RNICs[:1]
	only := g.RNICs[0].ID
	g.Paths = slices.DeleteFunc(g.Paths, func(p hostping.Path) bool { return p.RNIC != only })
	in := hostping.Input{Graph: g, Baseline: baselineOf(t, &g), Measured: measure(host(&g), &g)}
	for i := range in.Measured {
		in.Measured[i].Gbps *= .5
	}
	a := hostping.Analyse(in)
	if len(a.Curves) != 1 || len(a.Report.Verdicts) < 2 {
		t.Fatalf("without a curve: %v, asks for curves of %v", places(a), a.Curves)
	}
	curve := hostping.Curve{Pair: a.Curves[0]}
	for _, p := range hostping.CurveProbes(curve.Pair, hostping.LargeBytes) {
		curve.Micros = append(curve.Micros, 20+float64(p.Bytes*p.QPs)*8/190_000) // 190 Gb/s after 20 us
	}
	in.Curves = []hostping.Curve{curve}
	if v := hostping.Analyse(in).Report.Verdicts; len(v) != 1 || v[0].Bottleneck != hostping.RNICSlowStart || v[0].RNIC != only {
		t.Errorf("verdicts %+v, want slow start of %s alone", v, only)
	}
}

// The result does not depend on the order of pairs, links, RNICs or endpoints.
func TestOrderDoesNotMatter(t *testing.T) {
	g := machine(t, "4x2-pairs")
	h := host(&g, simulated.Fault{Bottleneck: hostping.RootPortFailure, Link: g.Links[0].ID, Share: 0.5}, simulated.Fault{Bottleneck: hostping.MemoryChannelFailure, Link: "memory:numa2", Share: 0.4})
	in := hostping.Input{Graph: g, Baseline: baselineOf(t, &g), Measured: measure(h, &g), Utilisation: h.Utilisation()}
	want := places(hostping.Analyse(in))
	if len(want) != 2 {
		t.Fatalf("found %v", want)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		mixed := in
		mixed.Graph.Links, mixed.Graph.Paths, mixed.Measured, mixed.Graph.RNICs = slices.Clone(g.Links), slices.Clone(g.Paths), slices.Clone(in.Measured), slices.Clone(g.RNICs)
		for _, swap := range []struct {
			n int
			f func(i, j int)
		}{
			{len(mixed.Graph.Links), func(i, j int) { l := mixed.Graph.Links; l[i], l[j] = l[j], l[i] }},
			{len(mixed.Graph.Paths), func(i, j int) { l := mixed.Graph.Paths; l[i], l[j] = l[j], l[i] }},
			{len(mixed.Measured), func(i, j int) { l := mixed.Measured; l[i], l[j] = l[j], l[i] }},
			{len(mixed.Graph.RNICs), func(i, j int) { l := mixed.Graph.RNICs; l[i], l[j] = l[j], l[i] }},
		} {
			random.Shuffle(swap.n, swap.f)
		}
		if got := places(hostping.Analyse(mixed)); !slices.Equal(got, want) {
			t.Errorf("in another order %v, want %v", got, want)
		}
	}
}

func places(a hostping.Analysis) (found []string) {
	for _, v := range a.Report.Verdicts {
		found = append(found, fmt.Sprint(v.Bottleneck, " ", v.Link, v.RNIC))
	}
	slices.Sort(found)
	return found
}

// Algorithm 1 on the cases of Fig. 8, and against a twin based on the paper's text instead of its pseudo-code.
func TestAlgorithm1(t *testing.T) {
	g := machine(t, "fig2")
	ids := make([]string, len(g.Links))
	for i, l := range g.Links {
		ids[i] = l.ID
	}
	random := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		var normal, abnormal []hostping.Path
		for _, p := range g.Paths {
			switch random.IntN(4) {
			case 0:
				abnormal = append(abnormal, p)
			case 1, 2:
				normal = append(normal, p)
			}
		}
		got := hostping.DetectAbnormalLinks(ids, normal, abnormal)
		for link, want := range twin(ids, normal, abnormal) {
			if want.Status != hostping.Gray && got[link] != want && got[link].Status != hostping.Gray {
				t.Fatalf("%s: %v, want %v", link, got[link], want)
			}
			if (got[link].Status == hostping.Gray) != (want.Status == hostping.Gray) && len(abnormal) == 1 {
				t.Fatalf("%s: %v, want %v", link, got[link], want)
			}
		}
	}
}

// twin: links on no normal path and on an abnormal one are abnormal, counted by distinct RNICs.
func twin(ids []string, normal, abnormal []hostping.Path) map[string]hostping.LinkFinding {
	has := func(paths []hostping.Path, link string) (rnics []string) {
		for _, p := range paths {
			if slices.Contains(p.Links, link) && !slices.Contains(rnics, p.RNIC) {
				rnics = append(rnics, p.RNIC)
			}
		}
		return rnics
	}
	found := map[string]hostping.LinkFinding{}
	for _, link := range ids {
		f := hostping.LinkFinding{Status: hostping.Uncertain}
		switch {
		case len(has(normal, link)) > 0:
			f.Status = hostping.Normal
		case len(has(abnormal, link)) > 0:
			f = hostping.LinkFinding{Status: hostping.Abnormal, AbnormalCnt: len(has(abnormal, link))}
		}
		found[link] = f
	}
	sound := maps.Clone(found)
	for _, p := range abnormal {
		if !slices.ContainsFunc(p.Links, func(l string) bool { return sound[l].Status != hostping.Normal }) {
			for _, l := range p.Links {
				found[l] = hostping.LinkFinding{Status: hostping.Gray}
			}
		}
	}
	return found
}

// BenchmarkAnalyse is the analysis of a full mesh of 8 RNICs and 10 endpoints with two faults: under 10 ms.
func BenchmarkAnalyse(b *testing.B) {
	for _, name := range []string{"2x4-rails", "nps4"} {
		g := machine(b, name)
		h := host(&g, simulated.Fault{Bottleneck: hostping.MemoryChannelFailure, Link: "memory:numa0", Share: 0.5}, simulated.Fault{Bottleneck: hostping.GPUPCIeFailure, Link: "pci:gpu5", Share: 0.4})
		in := hostping.Input{Graph: g, Baseline: baselineOf(b, &g), Measured: measure(h, &g), Utilisation: h.Utilisation()}
		b.Run(fmt.Sprintf("rnics=%d,endpoints=%d", len(g.RNICs), len(g.Endpoints)), func(b *testing.B) {
			for b.Loop() {
				if len(hostping.Analyse(in).Report.Verdicts) != 2 {
					b.Fatal("want two verdicts")
				}
			}
		})
	}
}
