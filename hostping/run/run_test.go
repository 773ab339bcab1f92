package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/run"
	"github.com/giverny/giverny/hostping/simulated"
)

func graph(t testing.TB, machine int) hostping.Graph {
	t.Helper()
	m := simulated.Machines()[machine]
	g, err := hostping.ReadGraph(m.Name, []byte(m.XML()), hostping.Auto)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func options(t testing.TB, g hostping.Graph, p run.Prober) run.Options {
	t.Helper()
	o := run.Options{Graph: g, Prober: run.Simulated{Host: simulated.New(simulated.DefaultConfig(), g, 1)}, Now: func() time.Time { return time.Unix(1, 0) }}
	b, missing, err := run.TakeBaseline(context.Background(), o)
	if err != nil || len(missing) > 0 {
		t.Fatal(err, missing)
	}
	o.Baseline, o.Prober = b, p
	return o
}

// flaky is a simulated host whose prober misbehaves.
type flaky struct {
	run.Simulated
	hangs func(p hostping.Probe) bool
	fails func(p hostping.Probe) bool
	asked int
}

func (f *flaky) Probe(ctx context.Context, p hostping.Probe) (hostping.ProbeResult, error) {
	f.asked++
	if f.fails != nil && f.fails(p) {
		return hostping.ProbeResult{}, errors.New("it ended")
	}
	if f.hangs != nil && f.hangs(p) {
		<-ctx.Done()
		return hostping.ProbeResult{}, ctx.Err()
	}
	return f.Simulated.Probe(ctx, p)
}

// A full mesh of 8 RNICs and 10 endpoints takes two probes for each pair, as the paper's.
func TestProbesOfAFullMesh(t *testing.T) {
	g := graph(t, 1)
	if len(g.RNICs) != 8 || len(g.Endpoints) != 10 {
		t.Fatalf("%d RNICs, %d endpoints", len(g.RNICs), len(g.Endpoints))
	}
	p := &flaky{Simulated: run.Simulated{Host: simulated.New(simulated.DefaultConfig(), g, 2)}}
	report, err := run.Run(context.Background(), options(t, g, p))
	if err != nil {
		t.Fatal(err)
	}
	if report.Probes != 2*8*10 || p.asked != report.Probes || len(report.Verdicts) != 0 || len(report.Matrix) != 80 {
		t.Errorf("%d probes, %d asked, %d cells, verdicts %v", report.Probes, p.asked, len(report.Matrix), report.Verdicts)
	}
}

// On a busy host only affinitive pairs are probed.
func TestBusyHost(t *testing.T) {
	g := graph(t, 0)
	h := simulated.New(simulated.DefaultConfig(), g, 2)
	h.SetBusy("mlx5_0", 0.5)
	report, err := run.Run(context.Background(), options(t, g, run.Simulated{Host: h}))
	if err != nil {
		t.Fatal(err)
	}
	if report.State != hostping.Busy || len(report.Matrix) != 4*4 || len(report.Verdicts) != 0 {
		t.Errorf("state %s, %d cells, verdicts %v", report.State, len(report.Matrix), report.Verdicts)
	}
}

// An RNIC that pauses its network while no link is abnormal: its own PCIe link (section 4.3).
func TestTriggered(t *testing.T) {
	g := graph(t, 0)
	h := simulated.New(simulated.DefaultConfig(), g, 2)
	h.SetBusy("mlx5_2", 0.7)
	o := options(t, g, run.Simulated{Host: h})
	o.Trigger = "mlx5_2"
	report, err := run.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Verdicts) != 1 || report.Verdicts[0].Bottleneck != hostping.RNICPCIeFailure || report.Verdicts[0].RNIC != "mlx5_2" {
		t.Errorf("verdicts %+v", report.Verdicts)
	}
}

// A vanished GPU is named; the rest is judged.
func TestVanishedGPU(t *testing.T) {
	g := graph(t, 0)
	h := simulated.New(simulated.DefaultConfig(), g, 2)
	h.Remove("gpu3")
	h.Inject(simulated.Fault{Bottleneck: hostping.MemoryChannelFailure, Link: "memory:numa1", Share: 0.5})
	report, err := run.Run(context.Background(), options(t, g, run.Simulated{Host: h}))
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Unmeasured) != 4 || !strings.Contains(strings.Join(report.Notes, "\n"), "gpu3 cannot be reached by any RNIC") {
		t.Errorf("unmeasured %v, notes %v", report.Unmeasured, report.Notes)
	}
	if len(report.Verdicts) != 1 || report.Verdicts[0].Link != "memory:numa1" {
		t.Errorf("verdicts %+v", report.Verdicts)
	}
}

// A prober that hangs for some pairs costs only these, each for no longer than its deadline.
func TestHangingProber(t *testing.T) {
	g := graph(t, 0)
	h := simulated.New(simulated.DefaultConfig(), g, 2)
	h.Inject(simulated.Fault{Bottleneck: hostping.MemoryChannelFailure, Link: "memory:numa1", Share: 0.5})
	p := &flaky{Simulated: run.Simulated{Host: h}, hangs: func(p hostping.Probe) bool { return p.Endpoint == "gpu2" }}
	o := options(t, g, p)
	o.ProbeTimeout = 10 * time.Millisecond
	report, err := run.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Unmeasured) != 4 || report.Unmeasured[0].Reason != "timed out after 10ms" {
		t.Errorf("unmeasured %v", report.Unmeasured)
	}
	if len(report.Verdicts) != 1 || report.Verdicts[0].Link != "memory:numa1" {
		t.Errorf("verdicts %+v", report.Verdicts)
	}
}

// A failed prober is not queried forever.
func TestProberThatIsGone(t *testing.T) {
	g := graph(t, 0)
	p := &flaky{fails: func(hostping.Probe) bool { return true }, Simulated: run.Simulated{Host: simulated.New(simulated.DefaultConfig(), g, 2)}}
	_, err := run.Run(context.Background(), options(t, g, p))
	if !errors.Is(err, run.ErrProber) || !strings.Contains(err.Error(), "mlx5_0 to gpu0: it ended") || p.asked != 5 {
		t.Errorf("%v after %d probes", err, p.asked)
	}
}

// The whole run has a deadline too; unmeasured pairs are named.
func TestRunTimeout(t *testing.T) {
	g := graph(t, 0)
	p := &flaky{hangs: func(p hostping.Probe) bool { return p.RNIC == "mlx5_3" }, Simulated: run.Simulated{Host: simulated.New(simulated.DefaultConfig(), g, 2)}}
	o := options(t, g, p)
	o.ProbeTimeout, o.Timeout = time.Hour, 300*time.Millisecond
	report, err := run.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(report.Unmeasured); n == 0 || report.Unmeasured[n-1].Reason != "not probed: the run took too long" {
		t.Errorf("unmeasured %v", report.Unmeasured)
	}
}

func TestBadInput(t *testing.T) {
	g, other := graph(t, 0), graph(t, 3)
	o := options(t, g, run.Simulated{Host: simulated.New(simulated.DefaultConfig(), g, 2)})
	o.Graph = other
	if _, err := run.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "another model") {
		t.Errorf("baseline of another model: %v", err)
	}
	o.Graph.RNICs = nil
	if _, err := run.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "no RNIC") {
		t.Errorf("no RNIC: %v", err)
	}
	h := simulated.New(simulated.DefaultConfig(), g, 2)
	h.SetBusy("mlx5_0", 0.5)
	if _, _, err := run.TakeBaseline(context.Background(), run.Options{Graph: g, Prober: run.Simulated{Host: h}}); err == nil || !strings.Contains(err.Error(), "is busy") {
		t.Errorf("baseline of a busy host: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o = options(t, g, run.Simulated{Host: h})
	if _, err := run.Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
