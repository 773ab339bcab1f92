package hostping_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/hostping"
)

// judged analyses a host that measures exactly its baseline, but for what change does.
func judged(t *testing.T, model string, u hostping.Utilisation, change func(m *hostping.Measured)) hostping.Analysis {
	t.Helper()
	g := machine(t, model)
	in := hostping.Input{Graph: g, Baseline: baselineOf(t, &g), Utilisation: u}
	for i := range in.Baseline.Pairs {
		b := &in.Baseline.Pairs[i]
		m := hostping.Measured{Pair: b.Pair, Error: 0.005}
		m.LatencyMicros, m.Gbps = b.Typical()
		change(&m)
		in.Measured = append(in.Measured, m)
	}
	return hostping.Analyse(in)
}

// toGPUs makes RNICs slow and late to all GPUs, by the given factors.
func toGPUs(latency, gbps float64, rnics ...string) func(*hostping.Measured) {
	return func(m *hostping.Measured) {
		if strings.HasPrefix(m.Endpoint, "gpu") && slices.Contains(rnics, m.RNIC) {
			m.LatencyMicros, m.Gbps = m.LatencyMicros*latency, m.Gbps*gbps
		}
	}
}

// to makes some pairs slow and late, by the given factors.
func to(latency, gbps float64, rnic string, endpoints ...string) func(*hostping.Measured) {
	return func(m *hostping.Measured) {
		if m.RNIC == rnic && slices.Contains(endpoints, m.Endpoint) {
			m.LatencyMicros, m.Gbps = m.LatencyMicros*latency, m.Gbps*gbps
		}
	}
}

func both(changes ...func(*hostping.Measured)) func(*hostping.Measured) {
	return func(m *hostping.Measured) {
		for _, c := range changes {
			c(m)
		}
	}
}

// GPU traffic through the root complex is slow and late: the RNICs and GPUs that show it determine the setting.
func TestMisconfigurations(t *testing.T) {
	all := []string{"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7"}
	for _, c := range []struct {
		name, model string
		use         hostping.Utilisation
		change      func(*hostping.Measured)
		want        string // texts up to the first colon
		confirm     string // pairs to measure again
	}{
		{"one RNIC", "fig2", hostping.Utilisation{}, toGPUs(2, 0.5, "mlx5_0"), "ATS seems to be disabled on mlx5_0", "mlx5_0-gpu0 mlx5_0-gpu1"},
		{"all RNICs", "4x2-pairs", hostping.Utilisation{}, toGPUs(2, 0.5, all...), "ACS seems to be enabled on the whole host", ""},
		{"both RNICs of a root port", "4x2-pairs", hostping.Utilisation{}, toGPUs(2, 0.5, all[:2]...), "ACS seems to be enabled below pci:switch-0000:01:00.0", ""},
		{"one of two RNICs of a root port", "4x2-pairs", hostping.Utilisation{}, toGPUs(2, 0.5, all[2]), "ATS seems to be disabled on mlx5_2", "mlx5_2-gpu2 mlx5_2-gpu3"},
		{"both, and one of another", "4x2-pairs", hostping.Utilisation{}, toGPUs(2, 0.5, all[2:5]...), "ACS seems to be enabled below pci:switch-0000:0b:00.0; ATS seems to be disabled on mlx5_4", "mlx5_4-gpu4 mlx5_4-gpu5"},
		{"one of two, and one GPU of the other", "4x2-pairs", hostping.Utilisation{}, both(toGPUs(2, 0.5, all[0]), to(2, 0.5, all[1], "gpu1")), "ATS seems to be disabled on mlx5_0; ACS seems to be enabled at switch-0000:01:00.0", "mlx5_1-gpu0 mlx5_0-gpu0 mlx5_0-gpu1 mlx5_1-gpu1"},
		{"one GPU of two", "fig2", hostping.Utilisation{}, to(2, 0.5, "mlx5_0", "gpu1"), "ACS seems to be enabled at switch-0000:01:00.0", "mlx5_0-gpu0 mlx5_0-gpu1"},
		{"one GPU of two, and one RNIC", "fig2", hostping.Utilisation{}, both(to(2, 0.5, "mlx5_0", "gpu1"), toGPUs(2, 0.5, "mlx5_1")), "ATS seems to be disabled on mlx5_1; ACS seems to be enabled at switch-0000:01:00.0", "mlx5_0-gpu0 mlx5_1-gpu2 mlx5_1-gpu3 mlx5_0-gpu1"},
		{"one RNIC with one near GPU", "2x4-rails", hostping.Utilisation{}, toGPUs(2, 0.5, "mlx5_0"), "ATS seems to be disabled on mlx5_0", "mlx5_0-gpu0"},
		{"late only", "fig2", hostping.Utilisation{}, toGPUs(2, 1, "mlx5_0"), "", ""},
		{"late only, on a busy RNIC", "fig2", hostping.Utilisation{RNICs: map[string]float64{"mlx5_0": 0.5}}, toGPUs(2, 1, "mlx5_0"), "", ""},
		{"an outlier to a busy RNIC", "fig2", hostping.Utilisation{RNICs: map[string]float64{"mlx5_0": 0.5}}, both(toGPUs(2, 1, "mlx5_0"), to(1, 0.5, "mlx5_0", "gpu0")), "ATS seems to be disabled on mlx5_0", "mlx5_0-gpu0 mlx5_0-gpu1"},
		{"over a full link", "fig2", hostping.Utilisation{Links: map[string]float64{"pci:mlx5_0": 0.95}}, toGPUs(2, 0.5, "mlx5_0"), "", ""},
		{"as late to one memory", "fig2", hostping.Utilisation{}, both(toGPUs(2, 0.5, "mlx5_0"), to(2.2, 1, "mlx5_0", "numa0")), "ATS seems to be disabled on mlx5_0", "mlx5_0-gpu0 mlx5_0-gpu1"},
		{"as late to other memory", "fig2", hostping.Utilisation{}, both(toGPUs(2, 0.5, "mlx5_0"), to(2.2, 1, "mlx5_0", "numa1")), "ATS seems to be disabled on mlx5_0", "mlx5_0-gpu0 mlx5_0-gpu1"},
	} {
		a := judged(t, c.model, c.use, c.change)
		var got, confirm []string
		for _, v := range a.Report.Verdicts {
			what, _, _ := strings.Cut(v.Text, ": ")
			got = append(got, what)
		}
		for _, p := range a.Confirm {
			confirm = append(confirm, p.RNIC+"-"+p.Endpoint)
		}
		if got := strings.Join(got, "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if got := strings.Join(confirm, " "); got != c.confirm {
			t.Errorf("%s: to confirm: %q, want %q", c.name, got, c.confirm)
		}
	}
	again := judged(t, "fig2", hostping.Utilisation{}, both(toGPUs(2, 0.5, "mlx5_0"), to(2.2, 1, "mlx5_0", "numa0", "numa1")))
	for _, v := range again.Report.Verdicts {
		if v.Bottleneck == hostping.ATSDisabled || v.Bottleneck == hostping.ACSEnabled {
			t.Errorf("the RNIC is as late to memory, and yet %s", v.Text)
		}
	}
}

// A link in full use is overloaded, not failed, and the processes that use it are named, the heaviest first. A PCIe
// link in full use is noted: it is none of the twelve bottlenecks.
func TestOverload(t *testing.T) {
	slow := func(through string) func(*hostping.Measured) {
		return func(m *hostping.Measured) {
			g := machine(t, "fig2")
			if slices.Contains(strings.Fields(links(&g, m.RNIC, m.Endpoint)), through) {
				m.Gbps = min(m.Gbps, 60)
			}
		}
	}
	for _, c := range []struct {
		link     string
		used     float64
		want     hostping.Bottleneck // empty: none
		endpoint string
		by       int // processes named
	}{
		{"memory:numa1", 0.97, hostping.MemoryChannelOverloaded, "numa1", 2},
		{"memory:numa1", 0.5, hostping.MemoryChannelFailure, "numa1", 0},
		{"bus:socket0-socket1", 0.97, hostping.InterSocketOverloaded, "", 2},
		{"bus:socket0-socket1", 0.5, hostping.InterSocketFailure, "", 0},
		{"pci:switch-0000:01:00.0", 0.97, "", "", 0},
		{"pci:switch-0000:01:00.0", 0.5, hostping.RootPortFailure, "", 0},
	} {
		use := hostping.Utilisation{Links: map[string]float64{c.link: c.used}, Processes: []hostping.Process{
			{PID: 7, Name: "light", Links: map[string]float64{c.link: 0.2}},
			{PID: 9, Name: "elsewhere", Links: map[string]float64{"memory:numa0": 0.9}},
			{PID: 8, Name: "heavy", Links: map[string]float64{c.link: 0.7}},
		}}
		a := judged(t, "fig2", use, slow(c.link))
		at := fmt.Sprintf("%s, %.0f%% in use", c.link, 100*c.used)
		if c.want == "" {
			if text := strings.Join(a.Report.Notes, "\n"); len(a.Report.Verdicts) > 0 || !strings.Contains(text, c.link+" is overloaded, 97% in use") {
				t.Errorf("%s: verdicts %+v, notes %q", at, a.Report.Verdicts, text)
			}
			continue
		}
		if len(a.Report.Verdicts) != 1 {
			t.Errorf("%s: verdicts %+v, want %s", at, a.Report.Verdicts, c.want)
			continue
		}
		v := a.Report.Verdicts[0]
		if v.Bottleneck != c.want || v.Link != c.link || v.Endpoint != c.endpoint || len(v.OverloadedBy) != c.by {
			t.Errorf("%s: %+v, want %s of %q by %d processes", at, v, c.want, c.endpoint, c.by)
		}
		if c.by > 0 && (v.OverloadedBy[0] != hostping.Consumer{PID: 8, Name: "heavy", Share: 0.7} || !strings.Contains(v.Text, "97% in use, most by heavy (process 8, 70%)")) {
			t.Errorf("%s: by %+v, text %q", at, v.OverloadedBy, v.Text)
		}
	}
}

// An RNIC whose neighbour crowds their root port is judged among its own endpoints, which say nothing about its own
// link. Next to one with little traffic, or traffic elsewhere, it is judged by the baseline.
func TestACrowdedRootPort(t *testing.T) {
	slow := func(m *hostping.Measured) {
		if m.RNIC == "mlx5_1" {
			m.Gbps /= 3
		}
	}
	for _, c := range []struct {
		name string
		use  hostping.Utilisation
		want string
	}{
		{"idle", hostping.Utilisation{}, "rnic_pcie_failure pci:mlx5_1mlx5_1"},
		{"its neighbour leaves room", hostping.Utilisation{RNICs: map[string]float64{"mlx5_0": 0.5}, Links: map[string]float64{"pci:switch-0000:01:00.0": 0.29}}, "rnic_pcie_failure pci:mlx5_1mlx5_1"},
		{"its neighbour crowds the port", hostping.Utilisation{RNICs: map[string]float64{"mlx5_0": 0.5}, Links: map[string]float64{"pci:switch-0000:01:00.0": 0.31}}, ""},
		{"its neighbour's use of the port is unknown", hostping.Utilisation{RNICs: map[string]float64{"mlx5_0": 0.5}}, ""},
		{"another port is crowded", hostping.Utilisation{RNICs: map[string]float64{"mlx5_2": 0.5}, Links: map[string]float64{"pci:switch-0000:0b:00.0": 0.9}}, "rnic_pcie_failure pci:mlx5_1mlx5_1"},
	} {
		if got := strings.Join(places(judged(t, "4x2-pairs", c.use, slow)), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The idle rule's thresholds are 5% of an RNIC's line rate and of a GPU.
func TestStateOf(t *testing.T) {
	for _, c := range []struct {
		rnic, gpu float64
		want      hostping.State
	}{{0.05, 0.05, hostping.Idle}, {0.055, 0, hostping.Busy}, {0, 0.055, hostping.Busy}} {
		u := hostping.Utilisation{RNICs: map[string]float64{"mlx5_0": c.rnic}, GPUs: map[string]float64{"gpu0": c.gpu}}
		if got := hostping.StateOf(&u); got != c.want {
			t.Errorf("RNIC %v, GPU %v: %s, want %s", c.rnic, c.gpu, got, c.want)
		}
	}
}

// The rate is that of the bytes by which the messages differ in the time by which they do, and its error that of the
// difference: here a deviation of 0.1 us in 25 repetitions of each, of 5.243 us.
func TestMeasure(t *testing.T) {
	var small, large []float64
	for i := range 25 {
		off := 0.1 * float64(i%3-1)
		small, large = append(small, 2+off), append(large, 7.24288+off)
	}
	m := hostping.Measure(hostping.Pair{}, small, large, hostping.LargeBytes)
	want := math.Sqrt2 * 0.1 * 1.4826 * 1.2533 / 5 / 5.24288
	if m.LatencyMicros != 2 || math.Abs(m.Gbps-131071*8/5242.88) > 1e-6 || math.Abs(m.Error-want) > 1e-9 {
		t.Errorf("%+v, want 2 us, %.3f Gb/s, error %.6f", m, 131071*8/5242.88, want)
	}
}
