package launch_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/command/dispatch/dispatchtest"
	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/launch"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// world is a site with a store of host runs.
type world struct {
	dispatchtest.Site
	past      []read.HostRun
	baselines []read.HostBaseline
	searches  []read.Search
}

func (w *world) Searches(context.Context, string, read.Span, int) ([]read.Search, error) {
	return w.searches, w.Failing
}

func (w *world) HostRuns(_ context.Context, _ string, s read.Span, f read.HostRunFilter, _ int) ([]read.HostRun, error) {
	return slices.DeleteFunc(slices.Clone(w.past), func(r read.HostRun) bool {
		return r.Time < s.From || r.Time >= s.To || f.Agent != "" && r.Agent != f.Agent
	}), w.Failing
}

func (w *world) HostBaselines(_ context.Context, _, model string) ([]read.HostBaseline, error) {
	return slices.DeleteFunc(slices.Clone(w.baselines), func(b read.HostBaseline) bool { return b.Model != model }), w.Failing
}

// newWorld has two hosts that accept runs, the second of which is drained, and one that accepts none.
func newWorld() *world {
	return &world{Site: dispatchtest.Site{Drained: map[string]string{"n2": "IDLE+DRAIN"}, Hosts: []dispatch.Host{
		dispatchtest.HostOf("n1", "mlx5_2", "MT4129", "", order.Kind), dispatchtest.HostOf("n2", "mlx5_2", "MT4129", "", order.Kind), dispatchtest.HostOf("n3", "mlx5_2", "MT4129", "")}}}
}

func (w *world) launcher(cfg launch.Config) *launch.Launcher {
	return &launch.Launcher{Dispatcher: w.Dispatcher(), Config: cfg, Runs: w}
}

// judged passes diagnoses to a policy one by one and returns the audit: outcome and reason of each.
func (w *world) judged(t *testing.T, edit func(*launch.Config), diagnoses ...schema.Diagnosis) []string {
	t.Helper()
	cfg := launch.DefaultConfig()
	cfg.AllowHosts, cfg.Slurm, cfg.Policy.Enabled, cfg.Policy.DryRun = []string{"n1", "n3"}, true, true, false
	if edit != nil {
		edit(&cfg)
	}
	audit, _ := w.Audit(t, launch.SinkName, launch.Reasons(), func(rec *record.Recorder) dispatchtest.Policy {
		return launch.NewPolicy(cfg.Policy, map[string]*launch.Launcher{"f": w.launcher(cfg)}, rec, time.Now)
	}, diagnoses...)
	return audit
}

func TestPolicy(t *testing.T) {
	past := func(agent string, ago time.Duration, status schema.CommandStatus) read.HostRun {
		return read.HostRun{RunID: "R1", Agent: agent, Time: schema.InstantOf(time.Now().Add(-ago)), Principal: "policy", Status: status}
	}
	for name, c := range map[string]struct {
		edit   func(*launch.Config)
		world  func(*world)
		agents []string // roots of diagnoses, in turn
		audit  []string // a part of each, in order
		sent   int
	}{
		"launches":           {nil, nil, []string{"n1"}, []string{"done n1: region 5, slow_host with confidence 0.90"}, 1},
		"a dry run":          {func(c *launch.Config) { c.Policy.DryRun = true }, nil, []string{"n1"}, []string{"done n1"}, 0},
		"confidence":         {func(c *launch.Config) { c.Policy.Confidence = 0.95 }, nil, []string{"n1"}, nil, 0},
		"an agent of others": {nil, nil, []string{"n9"}, []string{"refused n9 HCA-1: no_host: none of the 3 agents"}, 0},
		"takes no runs":      {nil, nil, []string{"n3"}, []string{"refused n3 HCA-1: no_host: agent n3 accepts no runs"}, 0},
		"in use":             {func(c *launch.Config) { c.AllowHosts = nil }, nil, []string{"n1"}, []string{"refused n1 HCA-1: in_use: agent n1: the host is in use"}, 0},
		"a peer of a search": {nil, func(w *world) {
			w.searches = []read.Search{{ID: "S1", Peers: []string{"n1"}, Agents: []read.SearchAgent{{Agent: "n2", Status: schema.CommandProgress}}}}
		}, []string{"n1"}, []string{"refused n1 HCA-1: running: agent n1 is in search S1"}, 0},
		"so many a day":       {func(c *launch.Config) { c.Policy.PerDay = 1 }, nil, []string{"n1", "n2"}, []string{"done n1", "refused n2 HCA-1: too_often: 1 runs were launched within a day"}, 1},
		"probed an hour ago":  {nil, func(w *world) { w.past = []read.HostRun{past("n1", 59*time.Minute, schema.CommandDone)} }, []string{"n1"}, []string{"refused n1 HCA-1: probed_already: n1 was probed 59m0s ago: R1"}, 0},
		"a run that goes on":  {nil, func(w *world) { w.past = []read.HostRun{past("n1", time.Minute, schema.CommandAccepted)} }, []string{"n1"}, []string{"refused n1 HCA-1: running: run R1 of n1 is still in progress"}, 0},
		"another host's runs": {nil, func(w *world) { w.past = []read.HostRun{past("n2", time.Minute, schema.CommandDone)} }, []string{"n1"}, []string{"done n1"}, 1},
		"one that failed":     {nil, func(w *world) { w.past = []read.HostRun{past("n1", time.Minute, schema.CommandFailed)} }, []string{"n1"}, []string{"done n1"}, 1},
		"the store is away":   {nil, func(w *world) { w.Failing = errors.New("no store") }, []string{"n1"}, []string{"refused n1 HCA-1: failed: no store"}, 0},
		"the agent refuses":   {nil, func(w *world) { w.Refuses = true }, []string{"n1"}, []string{"failed n1: agent n1: refused: so there"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				if c.world != nil {
					c.world(w)
				}
				var diagnoses []schema.Diagnosis
				for _, agent := range c.agents {
					diagnoses = append(diagnoses, dispatchtest.SlowHost(agent, .9))
				}
				got := w.judged(t, c.edit, diagnoses...)
				if !w.Matches(got, c.audit, c.sent) {
					t.Errorf("%d sent, want %d; audit %q, want %q", len(w.Sent), c.sent, got, c.audit)
				}
			})
		})
	}
}

// On a host in use the RNIC at the root is probed, on a drained one every pair; the request includes the stored
// baseline of the host's model, with the median of its hosts.
func TestWhatIsSent(t *testing.T) {
	pair := hostping.Pair{RNIC: "mlx5_2", Endpoint: "numa0"}
	w := newWorld()
	w.past = []read.HostRun{{RunID: "R1", Agent: "n1", Time: schema.InstantOf(time.Now().Add(-time.Hour)), Model: "m"}}
	w.baselines = []read.HostBaseline{{Model: "m", Baseline: hostping.Baseline{Version: hostping.BaselineVersion, Model: "m", LargeBytes: hostping.LargeBytes, Runs: 3,
		Pairs: []hostping.PairBaseline{{Pair: pair, Links: []string{"l"}, LatencyMicros: []float64{2, 9, 3}, Gbps: []float64{100, 40, 99}}}}}}
	cfg := launch.DefaultConfig()
	cfg.AllowHosts, cfg.Slurm = []string{"n1"}, true
	for agent, want := range map[string]struct {
		mode order.Mode
		rnic string
		has  bool // a baseline
	}{"n1": {order.Affinitive, "mlx5_2", true}, "n2": {order.Full, "", false}} {
		p, err := w.launcher(cfg).Plan(t.Context(), launch.Want{Diagnosis: dispatchtest.SlowHost(agent, .9)})
		if err != nil {
			t.Fatal(err)
		}
		r := p.Request
		if r.Mode != want.mode || r.RNIC != want.rnic || r.Region != 5 || r.DurationSeconds != 300 || (r.Baseline != nil) != want.has {
			t.Errorf("%s: %+v, want %+v", agent, r, want)
		}
		if r.Baseline != nil && (r.Baseline.Pairs[0].LatencyMicros[0] != 3 || r.Baseline.Pairs[0].Gbps[0] != 99) {
			t.Errorf("baseline %+v: want the medians", r.Baseline.Pairs)
		}
	}
	if p, err := w.launcher(cfg).Plan(t.Context(), launch.Want{Host: "n2", Mode: order.Baseline}); err != nil || p.Request.Mode != order.Baseline || p.Request.Baseline != nil {
		t.Errorf("%+v, %v", p.Request, err)
	}
}

func TestValidate(t *testing.T) {
	cfg := launch.DefaultConfig()
	if err := cfg.Validate(); err != nil || cfg.Policy.Enabled || !cfg.Policy.DryRun {
		t.Errorf("%+v, %v", cfg, err)
	}
	cfg.Policy.Enabled = true
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "allow_hosts: empty, and slurm is off") {
		t.Errorf("a policy that could launch nowhere: %v", err)
	}
	bad := launch.Config{AllowHosts: []string{"["}}
	err := bad.Validate()
	for _, key := range []string{"allow_hosts.0", "duration", "policy.confidence", "policy.again_after", "policy.per_day"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("no fault of %s in %v", key, err)
		}
	}
}
