package hostping_test

import (
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
