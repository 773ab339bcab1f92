package launch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search/launch"
	"github.com/giverny/giverny/store/read"
)

// world is a bus with agents, a store and Slurm, all of a test's making.
type world struct {
	mu      sync.Mutex
	hosts   []dispatch.Host
	sent    []schema.SearchRequest // guarded by mu
	targets []string               // guarded by mu
	actions []schema.FeedbackAction
	past    []read.Search
	known   []read.KnownAnomaly
	drained map[string]string
	failing error // of the store
	refuses bool  // the agents do
}

func (w *world) New(o command.Order) (schema.Command, error) {
	return schema.Command{ID: fmt.Sprintf("C%d", time.Now().UnixNano()), Kind: o.Kind, Targets: o.Targets, Arguments: o.Arguments, Principal: "policy"}, nil
}

func (w *world) Ask(_ context.Context, c *schema.Command, _ time.Duration, _ int) (answers []command.Answer, err error) {
	for _, h := range w.hosts {
		output, err := json.Marshal(command.AgentStatus{Hardware: &h.Hardware, Kinds: []string{schema.KindSearch}})
		if err != nil {
			return nil, err
		}
		answers = append(answers, command.Answer{CommandResult: schema.CommandResult{CommandID: c.ID, Agent: h.Agent, Status: schema.CommandDone, Output: output}})
	}
	return answers, nil
}

func (w *world) Begin(_ context.Context, c *schema.Command, _ time.Duration, _ int) ([]command.Answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var r schema.SearchRequest
	if err := json.Unmarshal(c.Arguments, &r); err != nil {
		return nil, err
	}
	w.sent, w.targets = append(w.sent, r), append(w.targets, c.Targets...)
	status := schema.CommandAccepted
	if w.refuses {
		status = schema.CommandRefused
	}
	return []command.Answer{{CommandResult: schema.CommandResult{Agent: c.Targets[0], Status: status, Reason: "so there"}}}, nil
}

func (w *world) NewestDiagnoses(context.Context, string, read.Span, uint64, int) ([]schema.Diagnosis, error) {
	return nil, w.failing
}

func (w *world) Searches(_ context.Context, _ string, s read.Span, _ int) ([]read.Search, error) {
	return slices.DeleteFunc(slices.Clone(w.past), func(r read.Search) bool { return r.Requested < s.From || r.Requested >= s.To }), w.failing
}

func (w *world) KnownAnomalies(context.Context, string, string) ([]read.KnownAnomaly, error) {
	return w.known, w.failing
}

func (w *world) Hardware(context.Context, string, string) ([]read.HostAdapter, error) {
	return nil, w.failing
}

func (w *world) OutOfUse(context.Context, []string) (map[string]string, error) { return w.drained, nil }

func (w *world) StoreFeedback(_ context.Context, _ string, actions []schema.FeedbackAction) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.actions = append(w.actions, actions...)
	return nil
}

func slowHost(agent string, confidence float64) schema.Diagnosis {
	return schema.Diagnosis{Fabric: "f", Time: schema.Instant(time.Now().UnixNano()), Region: 5, Cause: schema.Cause{Class: schema.CauseSlowHost, Confidence: confidence},
		Root: &schema.RootPort{Device: "leaf0", Port: "1", Peer: agent + " HCA-1"}}
}

// newWorld has four hosts of a model, the first two of which are drained, and two of another that are.
func newWorld() *world {
	return &world{drained: map[string]string{"n1": "IDLE+DRAIN", "n2": "IDLE+DRAIN", "m1": "IDLE+DRAIN", "m2": "IDLE+DRAIN"}, hosts: []dispatch.Host{hostOf("n1", "MT4129", "28", ""), hostOf("n2", "MT4129", "28", ""),
		hostOf("n3", "MT4129", "28", ""), hostOf("n4", "MT4129", "28", ""), hostOf("m1", "MT4125", "22", ""), hostOf("m2", "MT4125", "22", "")}}
}

// judged gives diagnoses to a policy one after the other and returns the audit: outcome and reason of each.
func (w *world) judged(t *testing.T, edit func(*launch.Config), diagnoses ...schema.Diagnosis) (audit []string, registry *prometheus.Registry) {
	t.Helper()
	registry = prometheus.NewRegistry()
	cfg := launch.DefaultConfig()
	cfg.Slurm, cfg.Policy.Enabled, cfg.Policy.DryRun = true, true, false
	if edit != nil {
		edit(&cfg)
	}
	metrics, err := record.NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	trail := record.NewTrail(w, metrics)
	launcher := &launch.Launcher{Desk: &dispatch.Desk{Fabric: "f", Bus: w, Nodes: w, Store: w, Now: time.Now, ListWait: time.Second, StartWait: time.Second}, Config: cfg, Findings: w}
	p := launch.NewPolicy(cfg.Policy, map[string]*launch.Launcher{"f": launcher}, record.New(launch.SinkName, launch.Reasons(), metrics, trail, log), time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = p.Run(ctx) })
	running.Go(func() { _ = trail.Run(ctx) })
	for _, d := range diagnoses {
		if err := p.Put(ctx, &schema.IntervalResult{Diagnoses: []schema.Diagnosis{d}}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	}
	cancel()
	running.Wait()
	for _, a := range w.actions {
		if a.Sink != launch.SinkName || a.Action != "launch" || a.Fabric != "f" {
			t.Errorf("action %+v", a)
		}
		audit = append(audit, fmt.Sprintf("%s %s: %s", a.Outcome, a.Target, a.Reason))
	}
	return audit, registry
}

func TestPolicy(t *testing.T) {
	subsystem := schema.Subsystem{NICModel: "MT4129", Firmware: "28"}
	pastSearch := func(ago time.Duration, status schema.CommandStatus, experiments int) read.Search {
		return read.Search{ID: "S1", Requested: schema.Instant(time.Now().Add(-ago).UnixNano()), Principal: "policy", Subsystem: subsystem,
			Agents: []read.SearchAgent{{Agent: "n1", Status: status, Experiments: experiments}}}
	}
	for name, c := range map[string]struct {
		edit      func(*launch.Config)
		world     func(*world)
		diagnoses func() []schema.Diagnosis
		audit     []string // a part of each, in order
		sent      int
	}{
		"launches": {nil, nil, func() []schema.Diagnosis { return []schema.Diagnosis{slowHost("n3", .9)} }, []string{"done n1: region 5, slow_host with confidence 0.90"}, 1},
		"other causes, low confidence and unknown roots are nothing to it": {nil, nil, func() []schema.Diagnosis {
			system, rootless := slowHost("n3", .9), slowHost("n3", .9)
			system.Cause.Class, rootless.Root = schema.CauseSystem, nil
			return []schema.Diagnosis{system, rootless, slowHost("n3", .79)}
		}, nil, 0},
		"a dry run sends nothing": {func(c *launch.Config) { c.Policy.DryRun = true }, nil, func() []schema.Diagnosis { return []schema.Diagnosis{slowHost("n3", .9)} },
			[]string{"done n1"}, 0},
		"one search of a subsystem": {nil, nil, func() []schema.Diagnosis {
			return []schema.Diagnosis{slowHost("n3", .9), slowHost("n3", .9), slowHost("n4", .9)}
		},
			[]string{"done n1", "refused n4 HCA-1: MT4129 with firmware 28 was searched"}, 1},
		"another subsystem": {nil, nil, func() []schema.Diagnosis { return []schema.Diagnosis{slowHost("n3", .9), slowHost("m2", .9)} }, []string{"done n1", "done m2"}, 2},
		"so many a day": {func(c *launch.Config) { c.Policy.PerDay = 1 }, nil, func() []schema.Diagnosis { return []schema.Diagnosis{slowHost("n3", .9), slowHost("m2", .9)} },
			[]string{"done n1", "refused m2 HCA-1: 1 searches were launched within a day"}, 1},
		"a search that runs": {nil, func(w *world) { w.past = []read.Search{pastSearch(time.Hour, schema.CommandProgress, 10)} },
			func() []schema.Diagnosis { return []schema.Diagnosis{slowHost("n3", .9)} }, []string{"refused n3 HCA-1: search S1 of MT4129 with firmware 28 runs"}, 0},
		"a search of last day": {nil, func(w *world) { w.past = []read.Search{pastSearch(30*time.Hour, schema.CommandDone, 100)} },
			func() []schema.Diagnosis { return []schema.Diagnosis{slowHost("n3", .9)} }, []string{"refused n3 HCA-1: MT4129 with firmware 28 was searched 30h0m0s ago: S1"}, 0},
		"a search that measured nothing, and one long ago": {nil, func(w *world) {
			w.past = []read.Search{pastSearch(30*time.Hour, schema.CommandFailed, 0), pastSearch(8*24*time.Hour, schema.CommandDone, 100)}
		}, func() []schema.Diagnosis { return []schema.Diagnosis{slowHost("n3", .9)} }, []string{"done n1"}, 1},
		"no host is free": {nil, func(w *world) { w.drained = nil }, func() []schema.Diagnosis { return []schema.Diagnosis{slowHost("n3", .9)} },
			[]string{"refused n3 HCA-1: 0 hosts with a MT4129 are free, 2 are needed: n1 is in use"}, 0},
		"the store is away": {nil, func(w *world) { w.failing = errors.New("no store") }, func() []schema.Diagnosis { return []schema.Diagnosis{slowHost("n3", .9)} },
			[]string{"refused n3 HCA-1: no store"}, 0},
		"the agent refuses": {nil, func(w *world) { w.refuses = true }, func() []schema.Diagnosis { return []schema.Diagnosis{slowHost("n3", .9)} },
			[]string{"failed n1: agent n1: refused: so there"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				if c.world != nil {
					c.world(w)
				}
				got, _ := w.judged(t, c.edit, c.diagnoses()...)
				ok := len(got) == len(c.audit) && len(w.sent) == c.sent
				for i := range min(len(got), len(c.audit)) {
					ok = ok && strings.Contains(got[i], c.audit[i])
				}
				if !ok {
					t.Errorf("%d sent, want %d; audit %q, want %q", len(w.sent), c.sent, got, c.audit)
				}
			})
		})
	}
}

// What is sent names the subsystem, a drained peer and what is known of this firmware.
func TestWhatThePolicySends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		old := read.KnownAnomaly{Subsystem: schema.Subsystem{NICModel: "MT4129", Firmware: "27"}, MFS: json.RawMessage(`{"mtu":{"max":512}}`)}
		w.known = []read.KnownAnomaly{{Subsystem: schema.Subsystem{NICModel: "MT4129", Firmware: "28"}, MFS: json.RawMessage(`{"qps":{"min":320}}`)}, old}
		w.judged(t, nil, slowHost("n2", .9))
		if len(w.sent) != 1 || w.targets[0] != "n2" {
			t.Fatalf("sent %+v to %v, want it at the root, which is drained", w.sent, w.targets)
		}
		r := w.sent[0]
		if r.Subsystem.Firmware != "28" || r.Adapter != "mlx5_0" || !slices.Equal(r.Peers, []string{"n1"}) || r.Budget != 1800 || r.DurationSeconds != 36000 || r.Region != 5 ||
			len(r.Known) != 1 || string(r.Known[0]) != `{"qps":{"min":320}}` || r.Engine != "perftest" {
			t.Errorf("request %+v", r)
		}
	})
}

// A host that is not there and a store that cannot be asked are refused under labels of their own.
func TestRefusalsAreCountedByReason(t *testing.T) {
	for reason, edit := range map[string]func(*world){
		"no_host": func(w *world) { w.drained = nil },
		"failed":  func(w *world) { w.failing = errors.New("no store") },
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			edit(w)
			_, registry := w.judged(t, nil, slowHost("n3", .9))
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
