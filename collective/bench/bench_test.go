package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/detect"
	"github.com/giverny/giverny/internal/test/cputime"
	"github.com/giverny/giverny/simulate/incident"
)

// TestFloors runs two incidents of each class at half the size of make
// bench-collective, a third of them on 16 ranks. Its 200 incidents have 95% of the
// classes, 90% of the culprits and under 3% of false blame; the floors are lower by
// three standard errors of 22 incidents.
func TestFloors(t *testing.T) {
	var all Score
	for i, spec := range Specs(22, 2_000_000, 1<<19) {
		if i%3 == 2 {
			spec.Ranks, spec.Spines, spec.ChunkBytes = 16, 6, 1<<18
		}
		c, err := Play(spec, detect.StepAware, detect.Periodic)
		if err != nil {
			t.Fatal(err)
		}
		d := collective.Diagnose(c.Run, collective.Options{})
		v := Judge(&c.Truth, &d)
		if !v.Class || !v.Culprit {
			t.Logf("%+v: %s", spec, d.Text)
		}
		all.Add(&c, v)
		named := map[[2]string]bool{}
		for _, x := range d.Culprits {
			at := [2]string{string(x.Class), x.Flow + " at " + x.Object}
			if named[at] {
				t.Errorf("%+v: %v is named twice:\n%s", spec, at, d.Text)
			}
			named[at] = true
		}
	}
	if all.Class < 18 || all.Culprit < 17 || all.FalsePercent() > 14 {
		t.Errorf("of %d: %d classes and %d culprits right, %.1f%% false blame", all.Cases, all.Class, all.Culprit, all.FalsePercent())
	}
	if aware, rigid := all.Bytes[detect.StepAware], all.Bytes[detect.Periodic]; aware*10 > rigid || aware == 0 {
		t.Errorf("step-aware detection cost %d bytes, polling at a fixed rate %d", aware, rigid)
	}
}

// A host's own link that is slow is not mistaken for the links between switches whose
// flows it slows: of such links 97% are found, and the floor is lower by three standard
// errors of 96 incidents.
func TestFloorOfHostLinks(t *testing.T) {
	var all Score
	for i := range 96 {
		spec := incident.Spec{Class: collective.SlowLink, HostLink: true, Algorithm: incident.Algorithms()[i%4], ChunkBytes: 1 << 19, Seed: 2_100_000 + uint64(i)}
		c, err := Play(spec, detect.StepAware)
		if err != nil {
			t.Fatal(err)
		}
		d := collective.Diagnose(c.Run, collective.Options{})
		v := Judge(&c.Truth, &d)
		if !v.Culprit {
			t.Logf("%+v, truth %v: %s", spec, c.Truth.Objects, d.Text)
		}
		all.Add(&c, v)
	}
	if all.Culprit < 88 {
		t.Errorf("%d of %d slow links of hosts are found", all.Culprit, all.Cases)
	}
}

// A host whose NIC is slow pauses the network and sends slowly: that is one culprit.
func TestSlowHostIsNamedOnce(t *testing.T) {
	for _, seed := range []uint64{5030, 5382} {
		c, err := Play(incident.Spec{Class: collective.SlowHost, Algorithm: collective.Tree, ChunkBytes: 1 << 20, Seed: seed}, detect.StepAware)
		if err != nil {
			t.Fatal(err)
		}
		d := collective.Diagnose(c.Run, collective.Options{})
		if v := Judge(&c.Truth, &d); len(d.Culprits) != 1 || !v.Class || !v.Culprit {
			t.Errorf("seed %d: want only slow_host at %v:\n%s", seed, c.Truth.Objects, d.Text)
		}
	}
}

// Where steps are slow and nothing is blamed, the diagnosis says so, and not that they
// take as long as expected.
func TestUnexplainedIsNotHealthy(t *testing.T) {
	c, err := Play(incident.Spec{Class: collective.SlowLink, HostLink: true, Algorithm: collective.Tree, ChunkBytes: 1 << 18, Seed: 41}, detect.StepAware)
	if err != nil {
		t.Fatal(err)
	}
	d := collective.Diagnose(c.Run, collective.Options{})
	if len(d.Culprits) == 0 && !strings.Contains(d.Text, "No culprit found: steps are slow, which costs 0.341962 ms") {
		t.Errorf("a slow link costs %d ns:\n%s", c.Truth.CostNanos, d.Text)
	}
}

func TestJudge(t *testing.T) {
	flow := incident.Truth{Class: collective.Incast, Flows: []string{"1->2", "3->2"}, Objects: []string{"switch 5 port 1"}, CostNanos: 100}
	port := incident.Truth{Class: collective.SlowLink, Objects: []string{"switch 5 port 1"}, CostNanos: 100}
	loop := incident.Truth{Class: collective.Deadlock, Objects: []string{"switch 5 port 1", "switch 6 port 2"}, Flows: []string{"1->2"}}
	rank := incident.Truth{Class: collective.Hang, Objects: []string{"host 4"}, Ranks: []int{3}}
	for name, c := range map[string]struct {
		truth    incident.Truth
		culprits []collective.Culprit
		want     Verdict
	}{
		"right":               {flow, []collective.Culprit{{Class: collective.Incast, Flow: "3->2", CostNanos: 50}}, Verdict{Class: true, Culprit: true, Blamed: 1}},
		"a flow not in truth": {flow, []collective.Culprit{{Class: collective.Incast, Flow: "9->2", Object: "switch 5 port 1", CostNanos: 50}}, Verdict{Class: true, Blamed: 1, False: 1}},
		"another, small":      {flow, []collective.Culprit{{Class: collective.Incast, Flow: "1->2", CostNanos: 50}, {Class: collective.SlowLink, CostNanos: 1}}, Verdict{Class: true, Culprit: true, Blamed: 1}},
		"another, large":      {flow, []collective.Culprit{{Class: collective.Incast, Flow: "1->2", CostNanos: 50}, {Class: collective.SlowLink, CostNanos: 40}}, Verdict{Class: true, Culprit: true, Blamed: 2, False: 1}},
		"port 1 is not 12":    {port, []collective.Culprit{{Class: collective.SlowLink, Object: "switch 5 port 12", CostNanos: 50}}, Verdict{Class: true, Blamed: 1, False: 1}},
		"a port":              {port, []collective.Culprit{{Class: collective.SlowLink, Object: "switch 5 port 1", CostNanos: 50}}, Verdict{Class: true, Culprit: true, Blamed: 1}},
		"half of a deadlock":  {loop, []collective.Culprit{{Class: collective.Deadlock, Object: "switch 5 port 1"}}, Verdict{Class: true, Blamed: 1, False: 1}},
		"a deadlock":          {loop, []collective.Culprit{{Class: collective.Deadlock, Object: "switch 6 port 2, switch 5 port 1"}}, Verdict{Class: true, Culprit: true, Blamed: 1}},
		"a rank":              {rank, []collective.Culprit{{Class: collective.Hang, Object: "rank 3"}}, Verdict{Class: true, Culprit: true, Blamed: 1}},
		"nothing":             {rank, nil, Verdict{}},
		"healthy, and blamed": {incident.Truth{Class: incident.Healthy}, []collective.Culprit{{Class: collective.Hang}}, Verdict{Blamed: 1, False: 1}},
		"healthy":             {incident.Truth{Class: incident.Healthy}, nil, Verdict{Class: true, Culprit: true}},
	} {
		d := collective.Diagnosis{MakespanNanos: 1000, ExpectedNanos: 900, Culprits: c.culprits}
		got := Judge(&c.truth, &d)
		if c.want.HasCost, c.want.Cost = got.HasCost, got.Cost; got != c.want || got.Cost != 0 {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// BenchmarkDiagnose measures the CPU time for one iteration of 16 ranks, with memory
// reused, over an incident of each class with the telemetry of step-aware detection;
// and the largest one.
func BenchmarkDiagnose(b *testing.B) {
	classes := len(incident.Classes())
	for i, algorithm := range incident.Algorithms() {
		b.Run(string(algorithm), func(b *testing.B) {
			var runs []collective.Run
			for _, spec := range Specs(classes, 7_000_000+uint64(i*classes), 1<<18) {
				spec.Algorithm, spec.Ranks, spec.Spines = algorithm, 16, 6
				c, err := Play(spec, detect.StepAware)
				if err != nil {
					b.Fatal(err)
				}
				runs = append(runs, c.Run)
			}
			z := collective.NewAnalyser(collective.Options{})
			cpu := make([]time.Duration, len(runs))
			b.ReportAllocs()
			for b.Loop() {
				for k := range runs {
					before := cputime.Used(b)
					z.Diagnose(runs[k])
					cpu[k] += cputime.Used(b) - before
				}
			}
			sum := time.Duration(0)
			for _, x := range cpu {
				sum += x
			}
			b.ReportMetric(float64(sum.Microseconds())/float64(b.N*len(runs)), "cpu-us/iteration")
			b.ReportMetric(float64(slices.Max(cpu).Microseconds())/float64(b.N), "cpu-us/worst")
		})
	}
}
