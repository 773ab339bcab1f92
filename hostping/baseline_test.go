package hostping_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/simulated"
)

// A bad host among three has no effect, in any order of merging, and the file gives the same baseline.
func TestBaselineOfABatch(t *testing.T) {
	g := machine(t, "fig2")
	var batch []hostping.Baseline
	for seed := range uint64(3) {
		h := simulated.New(simulated.DefaultConfig(), g, 10+seed)
		if seed == 1 {
			h.Inject(simulated.Fault{Bottleneck: hostping.MemoryChannelFailure, Link: "memory:numa0", Share: 0.3})
		}
		b, err := hostping.NewBaseline(&g, hostping.LargeBytes, measure(h, &g))
		if err != nil {
			t.Fatal(err)
		}
		batch = append(batch, b)
	}
	for _, order := range [][]int{{0, 1, 2}, {1, 0, 2}, {2, 1, 0}} {
		merged := batch[order[0]]
		for _, i := range order[1:] {
			var err error
			if merged, err = merged.Merge(&batch[i]); err != nil {
				t.Fatal(err)
			}
		}
		text, err := json.Marshal(merged)
		if err != nil {
			t.Fatal(err)
		}
		read, err := hostping.ParseBaseline(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range read.Pairs {
			if latency, gbps := p.Typical(); p.Endpoint == "numa0" && (gbps < 185 || latency > 2) {
				t.Errorf("order %v: %s to numa0: %.1f us, %.1f Gb/s", order, p.RNIC, latency, gbps)
			}
		}
		if read.Runs != 3 || len(read.Pairs) != len(g.Paths) {
			t.Errorf("%d runs of %d pairs", read.Runs, len(read.Pairs))
		}
	}
}

func TestBaselinesThatDoNotMerge(t *testing.T) {
	fig2, rails := machine(t, "fig2"), machine(t, "2x4-rails")
	a, b := baselineOf(t, &fig2), baselineOf(t, &rails)
	if _, err := a.Merge(&b); err == nil || !strings.Contains(err.Error(), "use one file per model") {
		t.Errorf("of two models: %v", err)
	}
	c := baselineOf(t, &fig2)
	c.LargeBytes *= 2
	if _, err := a.Merge(&c); err == nil || !strings.Contains(err.Error(), "use one file per size") {
		t.Errorf("of two sizes: %v", err)
	}
	if err := a.Fits(&rails); err == nil || !strings.Contains(err.Error(), "measure one on idle hosts of this model") {
		t.Errorf("of another make: %v", err)
	}
}

func TestDamagedBaselines(t *testing.T) {
	for _, c := range [][2]string{
		{`{`, "not a baseline written by giverny hostping baseline"},
		{`{"version":9}`, "version 9, want 1"},
		{`{"version":1,"large_bytes":131072,"pairs":[]}`, "without pairs"},
		{`{"version":1,"large_bytes":131072,"pairs":[{"rnic":"a","endpoint":"b","latency_us":[1],"gbps":[0]}]}`, "rates above 0"},
		{`{"version":1,"large_bytes":131072,"pairs":[{"rnic":"a","endpoint":"b","latency_us":[],"gbps":[3]}]}`, "rates above 0"},
	} {
		if _, err := hostping.ParseBaseline([]byte(c[0])); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %v, want %q", c[0], err, c[1])
		}
	}
}

// With a history, what went bad and good again is flapping, for a memory channel a verdict; so is gray in three runs.
func TestFlapping(t *testing.T) {
	g := machine(t, "fig2")
	bad := simulated.Fault{Bottleneck: hostping.MemoryChannelFailure, Link: "memory:numa1", Share: 0.5}
	run := func(history *hostping.History, faults ...simulated.Fault) hostping.Analysis {
		h := host(&g, faults...)
		a := hostping.Analyse(hostping.Input{Graph: g, Baseline: baselineOf(t, &g), Measured: measure(h, &g), Utilisation: h.Utilisation(), History: history})
		*history = history.Add(a.Run)
		return a
	}
	h := &hostping.History{Version: hostping.HistoryVersion}
	run(h)
	if a := run(h, bad); len(a.Report.Verdicts) != 1 || a.Report.Verdicts[0].Bottleneck != hostping.MemoryChannelFailure {
		t.Errorf("first bad after good: %v", places(a))
	}
	if a := run(h); len(a.Report.Verdicts) != 1 || a.Report.Verdicts[0].Bottleneck != hostping.MemoryChannelFlapping || a.Report.Verdicts[0].Link != "memory:numa1" {
		t.Errorf("good again: %v", places(a))
	}
	if a := run(h, bad); len(a.Report.Verdicts) != 1 || a.Report.Verdicts[0].Bottleneck != hostping.MemoryChannelFlapping {
		t.Errorf("bad again: %v", places(a))
	}
	for range 30 { // it was repaired
		run(h)
	}
	if a := run(h); len(a.Report.Verdicts) != 0 {
		t.Errorf("long after: %v", places(a))
	}
	text, _ := json.Marshal(h)
	if read, err := hostping.ParseHistory(text); err != nil || len(read.Runs) != len(h.Runs) {
		t.Errorf("read back %d of %d runs: %v", len(read.Runs), len(h.Runs), err)
	}
	gray := hostping.PastRun{Gray: []string{"pci:mlx5_0", "memory:numa0"}}
	h = &hostping.History{Version: hostping.HistoryVersion, Runs: []hostping.PastRun{gray, gray}}
	outlier := measure(host(&g), &g)
	for i := range outlier {
		if outlier[i].Pair == (hostping.Pair{RNIC: "mlx5_0", Endpoint: "numa0"}) {
			outlier[i].Gbps *= 0.5
		}
	}
	a := hostping.Analyse(hostping.Input{Graph: g, Baseline: baselineOf(t, &g), Measured: outlier, History: h})
	if got := places(a); len(got) != 1 || got[0] != "memory_channel_flapping memory:numa0" {
		t.Errorf("gray three times: %v", got)
	}
}
