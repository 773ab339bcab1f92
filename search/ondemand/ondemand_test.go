package ondemand_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search/ondemand"
)

func TestMain(m *testing.M) { serveEngine(); goleak.VerifyTestMain(m) }

// host has one adapter, with configurable other traffic.
type host struct {
	mu    sync.Mutex
	bytes uint64
	step  uint64 // increase of the counter at every reading
	err   error
}

func (h *host) DataBytes(string) (uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes += h.step
	return h.bytes, h.err
}

func (h *host) others(step uint64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.step, h.err = step, err
}

func hardware() schema.HostHardware {
	return schema.HostHardware{CPU: "EPYC", NPS: 4, Kernel: "6.1", Adapters: []schema.Adapter{
		{Name: "mlx5_0", Device: "n1 HCA-1", Model: "MT4129", Firmware: "28.39.1002"}, {Name: "bnxt_re0", Device: "n1", Model: "14e4:1750"}}}
}

func testConfig() ondemand.Config {
	cfg := ondemand.DefaultConfig()
	cfg.Engines = []ondemand.EngineConfig{{Name: "sim", Kind: "simulated", Subsystem: "F"}, engineProgram("rig"), engineProgram("pair", "{peer}")}
	cfg.Adapters, cfg.Peers = []string{"mlx5_*"}, []string{"gpu-*"}
	cfg.WatchFor, cfg.WatchEvery, cfg.ReportEvery = time.Millisecond, time.Millisecond, time.Millisecond
	return cfg
}

func newHandler(t *testing.T, cfg ondemand.Config, counters ondemand.Counters) *ondemand.Handler {
	t.Helper()
	h, err := ondemand.New(cfg, ondemand.Deps{Hardware: hardware, Counters: counters, Dir: filepath.Join(t.TempDir(), "searches"), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func request(edit func(*schema.SearchRequest)) json.RawMessage {
	r := schema.SearchRequest{Engine: "sim", Budget: 300, DurationSeconds: 60, Seed: 1, Region: 5}
	if edit != nil {
		edit(&r)
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return text
}

// Requests for what a host does not offer, or over its limits, are refused with a reason before they begin.
func TestJudge(t *testing.T) {
	h := newHandler(t, testConfig(), &host{})
	for name, c := range map[string]struct {
		arguments json.RawMessage
		reason    safety.Reason // empty: accepted
		detail    string
	}{
		"simulated": {request(nil), "", ""},
		"exec":      {request(func(r *schema.SearchRequest) { r.Engine = "rig" }), "", ""},
		"expected subsystem": {request(func(r *schema.SearchRequest) {
			r.Engine, r.Subsystem = "rig", schema.Subsystem{NICModel: "MT4129", Firmware: "28.39.1002", CPU: "EPYC"}
		}), "", ""},
		"peer": {request(func(r *schema.SearchRequest) { r.Engine, r.Peers = "pair", []string{"gpu-7"} }), "", ""},
		"restricted": {request(func(r *schema.SearchRequest) {
			r.Restrict = map[string]json.RawMessage{"transport": json.RawMessage(`"RC_WRITE"`)}
		}), "", ""},
		"no JSON":       {json.RawMessage(`{"engine":`), safety.BadArguments, "search request"},
		"none":          {nil, safety.BadArguments, "search request"},
		"unknown field": {json.RawMessage(`{"engine":"sim","budget":1,"duration_seconds":1,"shell":"rm"}`), safety.BadArguments, "unknown field"},
		"algorithm":     {request(func(r *schema.SearchRequest) { r.Algorithm = "magic" }), safety.BadArguments, "magic"},
		"restriction": {request(func(r *schema.SearchRequest) {
			r.Restrict = map[string]json.RawMessage{"qps": json.RawMessage(`{"most":3}`)}
		}), safety.BadArguments, "most"},
		"budget":           {request(func(r *schema.SearchRequest) { r.Budget = 2001 }), safety.OverLimit, "max_experiments is 2000"},
		"duration":         {request(func(r *schema.SearchRequest) { r.DurationSeconds = 13 * 3600 }), safety.OverLimit, "max_duration is 12h"},
		"traffic":          {request(func(r *schema.SearchRequest) { r.MaxGigabytes = 6e6 }), safety.OverLimit, "max_gigabytes"},
		"no budget":        {request(func(r *schema.SearchRequest) { r.Budget = 0 }), safety.BadArguments, "budget 0"},
		"engine":           {request(func(r *schema.SearchRequest) { r.Engine = "/bin/sh" }), safety.NotOffered, "not in search.offer.engines"},
		"other peer":       {request(func(r *schema.SearchRequest) { r.Engine, r.Peers = "pair", []string{"login1"} }), safety.NotOffered, "login1"},
		"option as peer":   {request(func(r *schema.SearchRequest) { r.Engine, r.Peers = "pair", []string{"-oProxyCommand=x"} }), safety.BadArguments, "want a host name"},
		"no peer":          {request(func(r *schema.SearchRequest) { r.Engine = "pair" }), safety.BadArguments, "needs a peer"},
		"needless peer":    {request(func(r *schema.SearchRequest) { r.Peers = []string{"gpu-7"} }), safety.BadArguments, "takes no peer"},
		"other firmware":   {request(func(r *schema.SearchRequest) { r.Engine, r.Subsystem.Firmware = "rig", "28.40" }), safety.BadArguments, "another subsystem"},
		"other model":      {request(func(r *schema.SearchRequest) { r.Engine, r.Subsystem.NICModel = "rig", "MT4125" }), safety.BadArguments, "no adapter of model MT4125"},
		"unoffered device": {request(func(r *schema.SearchRequest) { r.Engine, r.Adapter = "rig", "bnxt_re0" }), safety.NotOffered, "search.offer.adapters"},
	} {
		no := h.CheckArguments(c.arguments)
		if c.reason == "" && no != nil || c.reason != "" && (no == nil || no.Reason != c.reason || !strings.Contains(no.Detail, c.detail)) {
			t.Errorf("%s: %v, want %q %q", name, no, c.reason, c.detail)
		}
		_, err := h.DryRun(t.Context(), c.arguments)
		if (err == nil) != (c.reason == "") {
			t.Errorf("%s: dry run: %v", name, err)
		}
	}
}

// reports of a run.
type reports struct {
	mu   sync.Mutex
	list []schema.SearchReport
}

func (r *reports) take(t *testing.T) func(json.RawMessage) {
	return func(text json.RawMessage) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.list = append(r.list, reportOf(t, text))
	}
}

func reportOf(t *testing.T, text json.RawMessage) (report schema.SearchReport) {
	t.Helper()
	if err := json.Unmarshal(text, &report); err != nil {
		t.Errorf("report %s: %v", text, err)
	}
	return report
}

// A search reports progress: the first report comes before any experiment, findings come once, and the answer has all
// that stand.
func TestASearchReports(t *testing.T) {
	h, got := newHandler(t, testConfig(), &host{}), &reports{}
	text, err := h.Run(t.Context(), command.Call{ID: "S1", Arguments: request(nil), Report: got.take(t)})
	if err != nil {
		t.Fatal(err)
	}
	last, first := reportOf(t, text), got.list[0]
	if first.Experiments != 0 || first.Engine != "sim" || first.Subsystem.NICModel != "simulated F" || first.Region != 5 || first.Algorithm != "lift" {
		t.Errorf("first report %+v", first)
	}
	if last.Experiments != 300 || last.Anomalies == 0 || len(last.Findings) < last.Anomalies || last.Gigabytes <= 0 || last.Seconds <= 0 {
		t.Errorf("answer %+v", last)
	}
	standing, news := map[int]string{}, map[[2]int]bool{}
	for _, r := range append(got.list, schema.SearchReport{Findings: unreported(got.list, last.Findings)}) {
		for _, f := range r.Findings {
			if key := [2]int{f.Experiment, f.Revised}; news[key] {
				t.Errorf("finding %v reported twice", key)
			} else {
				news[key] = true
			}
			if standing[f.Experiment] = string(f.MFS); f.Withdrawn() {
				delete(standing, f.Experiment)
			}
		}
	}
	if len(standing) != last.Anomalies {
		t.Errorf("%d findings stand by the reports, %d by the answer", len(standing), len(last.Findings))
	}
	for _, f := range last.Findings {
		if f.Withdrawn() {
			continue
		}
		if standing[f.Experiment] != string(f.MFS) || f.Symptom == "" || !json.Valid(f.Workload) {
			t.Errorf("finding %+v, reported as %s", f, standing[f.Experiment])
		}
	}
}

// unreported returns the answer's findings that came after the last report.
func unreported(reports []schema.SearchReport, answer []schema.SearchFinding) (late []schema.SearchFinding) {
	seen := map[[2]int]bool{}
	for _, r := range reports {
		for _, f := range r.Findings {
			seen[[2]int{f.Experiment, f.Revised}] = true
		}
	}
	for _, f := range answer {
		if !seen[[2]int{f.Experiment, f.Revised}] {
			late = append(late, f)
		}
	}
	return late
}

// Each limit ends a running search, and its findings are kept.
func TestWhatEndsASearch(t *testing.T) {
	blind := errors.New("no such file")
	for name, c := range map[string]struct {
		edit   func(*schema.SearchRequest, *ondemand.Config)
		act    func(*host, context.CancelCauseFunc) // at the first finding
		reason string                               // empty: it ends well
	}{
		"duration":  {func(r *schema.SearchRequest, _ *ondemand.Config) { r.DurationSeconds = 1 }, nil, ""},
		"traffic":   {func(r *schema.SearchRequest, _ *ondemand.Config) { r.MaxGigabytes = 50_000 }, nil, "the limit is 50000 GB"},
		"others":    {nil, func(h *host, _ context.CancelCauseFunc) { h.others(1e9, nil) }, "others move"},
		"blind":     {nil, func(h *host, _ context.CancelCauseFunc) { h.others(0, blind) }, "no such file"},
		"cancelled": {nil, func(_ *host, cancel context.CancelCauseFunc) { cancel(command.Cancelled("cancelled by guest")) }, "cancelled by guest"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, counters := testConfig(), &host{}
			arguments := request(func(r *schema.SearchRequest) {
				cfg.MaxExperiments = 1e6
				r.Engine, r.Budget = "rig", 1e6
				if c.edit != nil {
					c.edit(r, &cfg)
				}
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			h, got := newHandler(t, cfg, counters), &reports{}
			take := got.take(t)
			began := false
			text, err := h.Run(ctx, command.Call{ID: "S1", Arguments: arguments, Report: func(text json.RawMessage) {
				take(text)
				if c.act != nil && !began && len(reportOf(t, text).Findings) > 0 {
					began = true
					c.act(counters, cancel)
				}
			}})
			last := reportOf(t, text)
			if c.reason == "" && err != nil || c.reason != "" && (err == nil || !strings.Contains(err.Error(), c.reason)) {
				t.Errorf("error %v, want %q", err, c.reason)
			}
			if last.Experiments == 0 || last.Experiments >= 1e6 || c.act != nil && last.Anomalies == 0 {
				t.Errorf("answer %+v", last)
			}
			if last.Subsystem.NICModel != "MT4129" || last.Adapter != "mlx5_0" {
				t.Errorf("subsystem %+v", last.Subsystem)
			}
		})
	}
}

// The adapter of a simulated engine is not watched; if counters cannot be read, nothing is measured.
func TestNothingIsMeasuredUnwatched(t *testing.T) {
	counters := &host{err: errors.New("gone")}
	text, err := newHandler(t, testConfig(), counters).Run(t.Context(), command.Call{ID: "S1", Report: func(json.RawMessage) {},
		Arguments: request(func(r *schema.SearchRequest) { r.Engine = "rig" })})
	if err == nil || reportOf(t, text).Experiments != 0 {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := newHandler(t, testConfig(), counters).Run(t.Context(), command.Call{ID: "S1", Report: func(json.RawMessage) {}, Arguments: request(nil)}); err != nil {
		t.Error(err)
	}
}

// A rig's first pair is the template for every peer; an unreadable rig is an error before any search.
func TestRig(t *testing.T) {
	rig := filepath.Join(t.TempDir(), "rig.yaml")
	text := "ssh: [/bin/false]\npairs: [{a: {address: 10.0.0.1, device: mlx5_9}, b: {ssh: 'root@{peer}', address: '{peer}', device: mlx5_0}}]\n"
	if err := os.WriteFile(rig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := testConfig()
	cfg.Engines = []ondemand.EngineConfig{{Name: "perftest", Kind: "perftest", Rig: rig}, {Name: "collie", Kind: "collie-engine", Rig: rig}}
	h := newHandler(t, cfg, &host{})
	for _, name := range []string{"perftest", "collie"} {
		if no := h.CheckArguments(request(func(r *schema.SearchRequest) { r.Engine = name })); no == nil || no.Reason != safety.BadArguments {
			t.Errorf("%s without a peer: %v", name, no)
		}
		arguments := request(func(r *schema.SearchRequest) { r.Engine, r.Peers = name, []string{"gpu-7", "gpu-8"} })
		if no := h.CheckArguments(arguments); no != nil {
			t.Errorf("%s: %v", name, no)
		}
		text, err := h.Run(t.Context(), command.Call{ID: name, Arguments: arguments, Report: func(json.RawMessage) {}})
		if want := map[string]string{"perftest": "infiniband/mlx5_0", "collie": "message_rate_mpps"}[name]; err == nil || !strings.Contains(err.Error(), want) { // of this host, and its adapter
			t.Errorf("%s where nothing can be measured: %s, %v; want %q", name, text, err, want)
		}
	}
	cfg.Engines[0].Rig = rig + ".none"
	if _, err := ondemand.New(cfg, ondemand.Deps{}); err == nil || !strings.Contains(err.Error(), "engines.0.rig") {
		t.Errorf("a rig that is not there: %v", err)
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	cfg := ondemand.Config{Engines: []ondemand.EngineConfig{{}, {Name: "a", Kind: "exec"}, {Name: "a", Kind: "simulated", Subsystem: "X"}, {Name: "p", Kind: "perftest"}}, Peers: []string{"["}}
	err := cfg.Validate()
	for _, key := range []string{"engines.0.name", "engines.0.kind", "engines.1.command", "engines.2.subsystem", "engines.2.name", "engines.3.rig", "peers.0", "max_experiments", "max_duration",
		"max_gigabytes", "watch_for", "report_every"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("no fault of %s in %v", key, err)
		}
	}
}

// The knowledge base also has findings of engines with other dimensions, and anomalies of every workload: neither
// keeps this engine from searching.
func TestKnownOfOtherEngines(t *testing.T) {
	arguments := request(func(r *schema.SearchRequest) {
		r.Known = []json.RawMessage{json.RawMessage(`{"sockets":{"in":["far"]}}`), json.RawMessage(`{}`), json.RawMessage(`{"transport":{"in":["UD_SEND"]}}`)}
	})
	var reports reports
	if _, err := newHandler(t, testConfig(), &host{}).Run(t.Context(), command.Call{ID: "S1", Arguments: arguments, Report: reports.take(t)}); err != nil {
		t.Error(err)
	}
}
