package kubernetes

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/feedback/record/recordtest"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/test/metric"
)

// extending is an extender that filters nodes from a score of 60 of the allowed n1 to n4, and its HTTP handler.
type extending struct {
	*Extender
	mux      *http.ServeMux
	recorder *recordtest.Recorder
}

func newExtending(t *testing.T, edit func(*ExtenderConfig)) *extending {
	t.Helper()
	cfg := ExtenderConfig{Enabled: true, Allow: []string{"n[1-4]"}, FilterAt: 60, MaxAge: time.Minute}
	if edit != nil {
		edit(&cfg)
	}
	rec := recordtest.New(t, "kubernetes-extender", ExtenderReasons())
	x := &extending{NewExtender(cfg, rec.Recorder, slog.New(slog.DiscardHandler)), http.NewServeMux(), rec}
	x.Register(x.mux)
	return x
}

// scored passes the scores of a fabric, by node.
func (x *extending) scored(fabric string, scores map[string]float64) {
	s := reconcile.Scores{Fabric: fabric}
	for node, score := range scores {
		s.Nodes = append(s.Nodes, policy.Score{Node: node, Score: score, Reason: "1 of 2 links"})
	}
	x.Take(s)
}

// ask returns the answer to a request, as compact JSON.
func (x *extending) ask(t *testing.T, verb, request string) (status int, answer string) {
	t.Helper()
	w := httptest.NewRecorder()
	x.mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/feedback/kubernetes/"+verb, strings.NewReader(request)))
	if content := w.Header().Get("Content-Type"); w.Code == http.StatusOK && content != "application/json" {
		t.Errorf("an answer of type %q", content)
	}
	return w.Code, strings.TrimSpace(w.Body.String())
}

// passing returns the nodes that pass a filter request with node names, and the others with their reasons.
func (x *extending) passing(t *testing.T, names ...string) (passing []string, failed map[string]string) {
	t.Helper()
	request, _ := json.Marshal(map[string]any{"Pod": map[string]any{}, "NodeNames": append([]string{}, names...)})
	status, answer := x.ask(t, "filter", string(request))
	var result filterResult
	if err := json.Unmarshal([]byte(answer), &result); status != http.StatusOK || err != nil || result.NodeNames == nil || result.Nodes != nil {
		t.Fatalf("%d %s: %v", status, answer, err)
	}
	return *result.NodeNames, result.FailedNodes
}

// dropped checks the counts of what the extender ignored, in the order of ExtenderReasons.
func (x *extending) dropped(t *testing.T, want ...float64) {
	t.Helper()
	for i, reason := range ExtenderReasons() {
		if got := metric.Sum(t, x.recorder.Registry, "giverny_feedback_refused_total", reason); got != want[i] {
			t.Errorf("%s: %v, want %v", reason, got, want[i])
		}
	}
}

// Nodes at or above filter_at that are allowed fail, with the reason; the highest score of several fabrics counts.
func TestFilter(t *testing.T) {
	x := newExtending(t, nil)
	x.scored("f", map[string]float64{"n1": 60, "n2": 59.9, "n9": 100})
	x.scored("g", map[string]float64{"n1": 10, "n2": 1, "n3": 80})
	passing, failed := x.passing(t, "n0", "n1", "n2", "n3", "n9")
	if diff := cmp.Diff([]string{"n0", "n2", "n9"}, passing); diff != "" {
		t.Errorf("passing (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"n1": "congestion score 60: 1 of 2 links", "n3": "congestion score 80: 1 of 2 links"}, failed); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
	x.dropped(t, 0, 1, 0, 0)
	if passing, failed := x.passing(t, "n1", "n3"); len(passing) != 2 || len(failed) != 0 {
		t.Errorf("of nodes that are all congested %v pass, %v fail", passing, failed)
	}
	x.dropped(t, 0, 1, 1, 0)
	if passing, _ := x.passing(t, "n1", "n1"); len(passing) != 2 {
		t.Errorf("of a node that is listed twice %v pass", passing)
	}
	x.dropped(t, 0, 1, 2, 0)
	if passing, _ := x.passing(t); len(passing) != 0 {
		t.Errorf("of no nodes %v pass", passing)
	}
	x.dropped(t, 0, 1, 2, 0)
	x.Forget("g")
	if passing, _ := x.passing(t, "n1", "n3"); !slices.Equal(passing, []string{"n3"}) {
		t.Errorf("after the fabric of n3 went to another process %v pass", passing)
	}
}

// A node is the same whatever the case of its name, and with a domain on one side only.
func TestFilterOfNamesInOtherSpellings(t *testing.T) {
	x := newExtending(t, func(cfg *ExtenderConfig) { cfg.Allow = []string{"*"} })
	x.scored("ib0", map[string]float64{"N1": 90, "n2.ib.example.org": 90, "n3": 90, "n4.a": 90, "n4.b": 90, "10.0.0.1": 90})
	passing, failed := x.passing(t, "n1", "n1.example.org", "n2", "n2.example.org", "N2.IB.example.org", "n3.example.org", "n4", "n5", "10.0.0.2", "10")
	if want := []string{"n2.example.org", "n4", "n5", "10.0.0.2", "10"}; !slices.Equal(passing, want) || len(failed) != 5 {
		t.Errorf("%v pass, want %v; %v", passing, want, failed)
	}
}

func TestFilterThatFiltersNothing(t *testing.T) {
	for name, edit := range map[string]func(*ExtenderConfig){
		"a dry run":    func(c *ExtenderConfig) { c.DryRun = true },
		"filter_at: 0": func(c *ExtenderConfig) { c.FilterAt = 0 },
	} {
		x := newExtending(t, edit)
		x.scored("f", map[string]float64{"n1": 100})
		if passing, failed := x.passing(t, "n1", "n2"); len(passing) != 2 || len(failed) != 0 {
			t.Errorf("%s: %v pass, %v fail", name, passing, failed)
		}
		x.dropped(t, 0, 0, 0, 0)
	}
}

// Without current scores every node passes and all have the same priority.
func TestTheExtenderFailsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExtending(t, nil)
		stale := 0.
		open := func(when string) {
			t.Helper()
			if passing, _ := x.passing(t, "n1", "n2"); len(passing) != 2 {
				t.Errorf("%s: only %v pass", when, passing)
			}
			if _, answer := x.ask(t, "prioritize", `{"NodeNames":["n1","n2"]}`); answer != `[{"Host":"n1","Score":0},{"Host":"n2","Score":0}]` {
				t.Errorf("%s: priorities %s", when, answer)
			}
			stale += 2
			x.dropped(t, stale, 0, 0, 0)
		}
		open("before the first scores")
		x.scored("f", map[string]float64{"n1": 100})
		time.Sleep(time.Minute)
		if passing, _ := x.passing(t, "n1", "n2"); len(passing) != 1 {
			t.Errorf("at max_age %v pass", passing)
		}
		time.Sleep(time.Nanosecond)
		open("after max_age")
		x.Take(reconcile.Scores{Fabric: "f", Unknown: true, Nodes: []policy.Score{{Node: "n1", Score: 100}}})
		open("while the scores are unknown")
	})
}

// A request with whole nodes is answered with whole nodes, and with the other fields of their list.
func TestFilterKeepsNodesAsTheyAre(t *testing.T) {
	x := newExtending(t, nil)
	x.scored("f", map[string]float64{"n1": 90})
	n2 := `{"metadata":{"name":"n2","uid":"7"},"spec":{"a":[1]}}`
	_, answer := x.ask(t, "filter", `{"Pod":{},"Nodes":{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"n1"}},`+n2+`]}}`)
	if want := `{"Nodes":{"items":[` + n2 + `],"metadata":{"resourceVersion":"5"}},"NodeNames":null,"FailedNodes":{"n1":"congestion score 90: 1 of 2 links"},"FailedAndUnresolvableNodes":{},"Error":""}`; answer != want {
		t.Errorf("answer %s\nwant   %s", answer, want)
	}
	if _, answer := x.ask(t, "filter", `{"Nodes":{}}`); !strings.HasPrefix(answer, `{"Nodes":{"items":[]},`) {
		t.Errorf("of no nodes: %s", answer)
	}
	if _, answer := x.ask(t, "prioritize", `{"Nodes":{"items":[{"metadata":{"name":"n1"}}]}}`); answer != `[{"Host":"n1","Score":1}]` {
		t.Errorf("priorities of nodes: %s", answer)
	}
}

// The priority falls from 10 with the score; a node that may not be filtered is not ranked lower either.
func TestPrioritize(t *testing.T) {
	x := newExtending(t, nil)
	x.scored("f", map[string]float64{"n1": 100, "n2": 34, "n3": 45.2, "n9": 100})
	const request = `{"NodeNames":["n1","n2","n3","n4","n9"]}`
	if _, answer := x.ask(t, "prioritize", request); answer != `[{"Host":"n1","Score":0},{"Host":"n2","Score":7},{"Host":"n3","Score":5},{"Host":"n4","Score":10},{"Host":"n9","Score":10}]` {
		t.Errorf("priorities %s", answer)
	}
	dry := newExtending(t, func(c *ExtenderConfig) { c.DryRun = true })
	dry.scored("f", map[string]float64{"n1": 100})
	if _, answer := dry.ask(t, "prioritize", `{"NodeNames":["n1","n2"]}`); answer != `[{"Host":"n1","Score":0},{"Host":"n2","Score":0}]` {
		t.Errorf("priorities of a dry run %s", answer)
	}
	if _, answer := x.ask(t, "prioritize", `{"NodeNames":[]}`); answer != `[]` {
		t.Errorf("priorities of no nodes %s", answer)
	}
}

// Requests that are not the scheduler's are refused, counted, and answered with what is wanted.
func TestMalformedRequests(t *testing.T) {
	x := newExtending(t, nil)
	for i, request := range []string{``, `{`, `{"Pod":{}}`, `{"Nodes":7}`, `{"Nodes":{"items":{}}}`, `{"Nodes":{"items":[{"metadata":7}]}}`} {
		status, answer := x.ask(t, "filter", request)
		if status != http.StatusBadRequest || !strings.HasPrefix(answer, "want ExtenderArgs of kube-scheduler's extender/v1: ") {
			t.Errorf("%s: %d %s", request, status, answer)
		}
		x.dropped(t, 0, 0, 0, float64(i+1))
	}
}

// The error for a request above the listener's limit names the key to change.
func TestARequestThatIsTooLarge(t *testing.T) {
	x := newExtending(t, nil)
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/feedback/kubernetes/filter", strings.NewReader(`{"NodeNames":["n1"]}`))
	r.Body = http.MaxBytesReader(w, r.Body, 8)
	x.mux.ServeHTTP(w, r)
	if body := w.Body.String(); w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(body, "more than 8 bytes: set nodeCacheCapable: true") {
		t.Errorf("%d %s", w.Code, body)
	}
}

// Faults that TestValidateNamesEveryFault cannot have at the same time.
func TestValidateNamesEachFault(t *testing.T) {
	for key, edit := range map[string]func(*Config){
		"extender.allow.0":   func(c *Config) { c.Extender.Allow = []string{"["} },
		"extender.filter_at": func(c *Config) { c.Extender.FilterAt = -1 },
		"nodes.label":        func(c *Config) { c.Nodes.Label = "" },
		"nodes.taint":        func(c *Config) { c.Nodes.Taint = "a b" },
		"nodes.url":          func(c *Config) { c.Nodes.URL = secret.NewURL("ftp://kube") },
	} {
		cfg := DefaultConfig()
		edit(&cfg)
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), key+":") {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, edit := range []func(*Config){
		func(c *Config) { c.Extender.FilterAt, c.Nodes.URL = 0, secret.NewURL("http://kube:8001") },
		func(c *Config) { c.Extender.FilterAt, c.Nodes.URL = 100, secret.NewURL("https://kube") },
		func(c *Config) {
			c.Nodes.Label, c.Nodes.Taint, c.Nodes.Effect = "", "giverny.dev/congested", noSchedule
		},
		func(c *Config) {
			c.Extender.Enabled, c.Extender.Allow, c.Nodes.Enabled, c.Nodes.Policy.Allow = true, []string{"n1"}, true, []string{"n1"}
		},
	} {
		cfg := DefaultConfig()
		edit(&cfg)
		if err := cfg.Validate(); err != nil {
			t.Error(err)
		}
	}
}
