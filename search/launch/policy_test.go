package launch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/command/dispatch/dispatchtest"
	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search/launch"
	"github.com/giverny/giverny/store/read"
)

// world is a site with a store of searches.
type world struct {
	dispatchtest.Site
	past  []read.Search
	known []read.KnownAnomaly
}

func (w *world) Searches(_ context.Context, _ string, s read.Span, _ int) ([]read.Search, error) {
	return slices.DeleteFunc(slices.Clone(w.past), func(r read.Search) bool { return r.Requested < s.From || r.Requested >= s.To }), w.Failing
}

func (w *world) KnownAnomalies(context.Context, string, string) ([]read.KnownAnomaly, error) {
	return w.known, w.Failing
}

// newWorld has four hosts of one model, the first two of which are drained, and two drained ones of another model.
func newWorld() *world {
	return &world{Site: dispatchtest.Site{Drained: map[string]string{"n1": "IDLE+DRAIN", "n2": "IDLE+DRAIN", "m1": "IDLE+DRAIN", "m2": "IDLE+DRAIN"},
		Hosts: []dispatch.Host{hostOf("n1", "MT4129", "28", ""), hostOf("n2", "MT4129", "28", ""), hostOf("n3", "MT4129", "28", ""), hostOf("n4", "MT4129", "28", ""),
			hostOf("m1", "MT4125", "22", ""), hostOf("m2", "MT4125", "22", "")}}}
}

// judged passes diagnoses to a policy one by one and returns the audit: outcome and reason of each.
func (w *world) judged(t *testing.T, edit func(*launch.Config), diagnoses ...schema.Diagnosis) ([]string, *prometheus.Registry) {
	t.Helper()
	cfg := launch.DefaultConfig()
	cfg.Slurm, cfg.Policy.Enabled, cfg.Policy.DryRun = true, true, false
	if edit != nil {
		edit(&cfg)
	}
	launcher := &launch.Launcher{Dispatcher: w.Dispatcher(), Config: cfg, Findings: w}
	return w.Audit(t, launch.SinkName, launch.Reasons(), func(rec *record.Recorder) dispatchtest.Policy {
		return launch.NewPolicy(cfg.Policy, map[string]*launch.Launcher{"f": launcher}, rec, time.Now)
	}, diagnoses...)
}

// sent returns the requests that were sent.
func (w *world) sent(t *testing.T) (requests []schema.SearchRequest) {
	t.Helper()
	for _, c := range w.Sent {
		var r schema.SearchRequest
		if err := json.Unmarshal(c.Arguments, &r); err != nil {
			t.Fatal(err)
		}
		requests = append(requests, r)
	}
	return requests
}

func TestPolicy(t *testing.T) {
	subsystem := schema.Subsystem{NICModel: "MT4129", Firmware: "28"}
	pastSearch := func(ago time.Duration, status schema.CommandStatus, experiments int) read.Search {
		return read.Search{ID: "S1", Requested: schema.InstantOf(time.Now().Add(-ago)), Principal: "policy", Subsystem: subsystem, Budget: 100,
			Agents: []read.SearchAgent{{Agent: "n1", Status: status, Experiments: experiments}}}
	}
	for name, c := range map[string]struct {
		edit      func(*launch.Config)
		world     func(*world)
		diagnoses func() []schema.Diagnosis
		audit     []string // a part of each, in order
		sent      int
	}{
		"launches": {nil, nil, func() []schema.Diagnosis { return []schema.Diagnosis{dispatchtest.SlowHost("n3", .9)} }, []string{"done n1: region 5, slow_host with confidence 0.90"}, 1},
		"other causes, low confidence and unknown roots are nothing to it": {nil, nil, func() []schema.Diagnosis {
			system, rootless := dispatchtest.SlowHost("n3", .9), dispatchtest.SlowHost("n3", .9)
			system.Cause.Class, rootless.Root = schema.CauseSystem, nil
			return []schema.Diagnosis{system, rootless, dispatchtest.SlowHost("n3", .79)}
		}, nil, 0},
		"a dry run sends nothing": {func(c *launch.Config) { c.Policy.DryRun = true }, nil, func() []schema.Diagnosis { return []schema.Diagnosis{dispatchtest.SlowHost("n3", .9)} },
			[]string{"done n1"}, 0},
		"one search of a subsystem": {nil, nil, func() []schema.Diagnosis {
			return []schema.Diagnosis{dispatchtest.SlowHost("n3", .9), dispatchtest.SlowHost("n3", .9), dispatchtest.SlowHost("n4", .9)}
		},
			[]string{"done n1", "refused n4 HCA-1: searched_already: MT4129 with firmware 28 was searched"}, 1},
		"another subsystem": {nil, nil, func() []schema.Diagnosis {
			return []schema.Diagnosis{dispatchtest.SlowHost("n3", .9), dispatchtest.SlowHost("m2", .9)}
		}, []string{"done n1", "done m2"}, 2},
		"so many a day": {func(c *launch.Config) { c.Policy.PerDay = 1 }, nil, func() []schema.Diagnosis {
			return []schema.Diagnosis{dispatchtest.SlowHost("n3", .9), dispatchtest.SlowHost("m2", .9)}
		},
			[]string{"done n1", "refused m2 HCA-1: too_often: 1 searches were launched within a day"}, 1},
		"a search that runs": {nil, func(w *world) {
			w.past = []read.Search{pastSearch(time.Hour, schema.CommandProgress, 10)}
			w.Drained["n3"] = "IDLE+DRAIN"
		},
			func() []schema.Diagnosis { return []schema.Diagnosis{dispatchtest.SlowHost("n3", .9)} }, []string{"refused n3 HCA-1: running: search S1 of MT4129 with firmware 28 is still running"}, 0},
		"hosts that search, and their peers": {nil, func(w *world) {
			other := pastSearch(time.Hour, schema.CommandProgress, 10)
			other.Subsystem.Firmware, other.Peers = "27", []string{"n2"}
			w.past = []read.Search{other}
		}, func() []schema.Diagnosis { return []schema.Diagnosis{dispatchtest.SlowHost("n3", .9)} },
			[]string{"refused n3 HCA-1: no_host: 0 hosts with a MT4129 are free, 2 are needed: n1 is in search S1, which runs; n2 is in search S1"}, 0},
		"a search of last day": {nil, func(w *world) { w.past = []read.Search{pastSearch(30*time.Hour, schema.CommandDone, 100)} },
			func() []schema.Diagnosis { return []schema.Diagnosis{dispatchtest.SlowHost("n3", .9)} }, []string{"refused n3 HCA-1: searched_already: MT4129 with firmware 28 was searched 30h0m0s ago: S1"}, 0},
		"a search that measured nothing, and one long ago": {nil, func(w *world) {
			w.past = []read.Search{pastSearch(30*time.Hour, schema.CommandFailed, 0), pastSearch(8*24*time.Hour, schema.CommandDone, 100)}
		}, func() []schema.Diagnosis { return []schema.Diagnosis{dispatchtest.SlowHost("n3", .9)} }, []string{"done n1"}, 1},
		"restricted and cancelled ones of a person": {nil, func(w *world) {
			restricted, cancelled := pastSearch(time.Hour, schema.CommandDone, 100), pastSearch(time.Hour, schema.CommandCancelled, 1)
			restricted.Principal, restricted.Restrict, cancelled.Principal = "operator", json.RawMessage(`{"qps":{"max":64}}`), "operator"
			w.past = []read.Search{restricted, cancelled}
		}, func() []schema.Diagnosis { return []schema.Diagnosis{dispatchtest.SlowHost("n3", .9)} }, []string{"done n1"}, 1},
		"one of the policy that was cancelled": {nil, func(w *world) { w.past = []read.Search{pastSearch(time.Hour, schema.CommandCancelled, 1)} },
			func() []schema.Diagnosis { return []schema.Diagnosis{dispatchtest.SlowHost("n3", .9)} }, []string{"refused n3 HCA-1: searched_already"}, 0},
		"no host is free": {nil, func(w *world) { w.Drained = nil }, func() []schema.Diagnosis { return []schema.Diagnosis{dispatchtest.SlowHost("n3", .9)} },
			[]string{"refused n3 HCA-1: no_host: 0 hosts with a MT4129 are free, 2 are needed: n1 is in use"}, 0},
		"the store is away": {nil, func(w *world) { w.Failing = errors.New("no store") }, func() []schema.Diagnosis { return []schema.Diagnosis{dispatchtest.SlowHost("n3", .9)} },
			[]string{"refused n3 HCA-1: failed: no store"}, 0},
		"the agent refuses": {nil, func(w *world) { w.Refuses = true }, func() []schema.Diagnosis { return []schema.Diagnosis{dispatchtest.SlowHost("n3", .9)} },
			[]string{"failed n1: agent n1: refused: so there"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				if c.world != nil {
					c.world(w)
				}
				got, _ := w.judged(t, c.edit, c.diagnoses()...)
				if !w.Matches(got, c.audit, c.sent) {
					t.Errorf("%d sent, want %d; audit %q, want %q", len(w.Sent), c.sent, got, c.audit)
				}
			})
		})
	}
}

// Searches in one fabric, and their number, do not affect another.
func TestFabricsAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, cfg, launchers := newWorld(), launch.DefaultConfig(), map[string]*launch.Launcher{}
		cfg.Slurm, cfg.Policy.Enabled, cfg.Policy.DryRun, cfg.Policy.PerDay = true, true, false, 1
		for _, fabric := range []string{"f", "g"} {
			launchers[fabric] = &launch.Launcher{Dispatcher: w.Dispatcher(), Config: cfg, Findings: w}
			launchers[fabric].Fabric = fabric
		}
		diagnoses := []schema.Diagnosis{dispatchtest.SlowHost("n3", .9), dispatchtest.SlowHost("n3", .9), dispatchtest.SlowHost("n4", .9)}
		diagnoses[1].Fabric = "g"
		got, _ := w.Audit(t, launch.SinkName, launch.Reasons(), func(rec *record.Recorder) dispatchtest.Policy {
			return launch.NewPolicy(cfg.Policy, launchers, rec, time.Now)
		}, diagnoses...)
		slices.Sort(got) // those of two fabrics come in any order
		if !w.Matches(got, []string{"done n1", "done n1", "refused n4 HCA-1: searched_already"}, 2) {
			t.Errorf("%d sent; audit %q", len(w.Sent), got)
		}
	})
}

// MFS known of many hosts are sent once, and only as many as fit into a command.
func TestKnownFitsIntoACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for i := range 400 {
			mfs := fmt.Sprintf(`{"qps":{"min":%d},"sizes":{"all":{"max":%d}},"pad":{"in":[%q]}}`, i/2, i/2, strings.Repeat("x", i))
			if i%2 == 1 {
				mfs = string(w.known[i-1].MFS)
			}
			w.known = append(w.known, read.KnownAnomaly{Subsystem: schema.Subsystem{NICModel: "MT4129", Firmware: "28", Kernel: fmt.Sprint(i)}, MFS: json.RawMessage(mfs)})
		}
		w.judged(t, nil, dispatchtest.SlowHost("n2", .9))
		if len(w.Sent) != 1 || len(w.Sent[0].Arguments) > command.MaxArgumentBytes {
			t.Fatalf("sent %d", len(w.Sent))
		}
		known := w.sent(t)[0].Known
		if len(known) < 100 || len(known) == 200 || string(known[99]) != string(w.known[198].MFS) {
			t.Errorf("%d known", len(known))
		}
	})
}

// The request names the subsystem, a drained peer and the MFS known of this firmware.
func TestWhatThePolicySends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		old := read.KnownAnomaly{Subsystem: schema.Subsystem{NICModel: "MT4129", Firmware: "27"}, MFS: json.RawMessage(`{"mtu":{"max":512}}`)}
		w.known = []read.KnownAnomaly{{Subsystem: schema.Subsystem{NICModel: "MT4129", Firmware: "28"}, MFS: json.RawMessage(`{"qps":{"min":320}}`)}, old}
		w.judged(t, nil, dispatchtest.SlowHost("n2", .9))
		if len(w.Sent) != 1 || w.Sent[0].Targets[0] != "n2" {
			t.Fatalf("sent %+v, want it at the root, which is drained", w.Sent)
		}
		r := w.sent(t)[0]
		if r.Subsystem.Firmware != "28" || r.Adapter != "mlx5_0" || !slices.Equal(r.Peers, []string{"n1"}) || r.Budget != 1800 || r.DurationSeconds != 36000 || r.Region != 5 ||
			len(r.Known) != 1 || string(r.Known[0]) != `{"qps":{"min":320}}` || r.Engine != "perftest" {
			t.Errorf("request %+v", r)
		}
	})
}

// A missing host and an unavailable store are refused with separate reasons.
func TestRefusalsAreCountedByReason(t *testing.T) {
	for reason, edit := range map[string]func(*world){
		"no_host": func(w *world) { w.Drained = nil },
		"failed":  func(w *world) { w.Failing = errors.New("no store") },
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			edit(w)
			_, registry := w.judged(t, nil, dispatchtest.SlowHost("n3", .9))
			want := "# HELP giverny_feedback_refused_total Changes refused and deliveries dropped, by reason.\n# TYPE giverny_feedback_refused_total counter\n"
			for _, r := range slices.Sorted(slices.Values(launch.Reasons())) {
				n := 0
				if r == reason {
					n = 1
				}
				want += fmt.Sprintf("giverny_feedback_refused_total{reason=%q,sink=%q} %d\n", r, launch.SinkName, n)
			}
			if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "giverny_feedback_refused_total"); err != nil {
				t.Error(err)
			}
		})
	}
}
