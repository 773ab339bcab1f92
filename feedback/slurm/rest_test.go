package slurm

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/internal/secret"
)

// restd is a server like slurmrestd v0.0.40: its responses follow its OpenAPI document,
// with weight an integer and features lists; with older it is like v0.0.38, with
// features as one string. It accepts only valid requests.
type restd struct {
	older bool

	mu    sync.Mutex
	nodes map[string]*node
	down  bool
}

func (s *restd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, ok := strings.CutPrefix(r.URL.Path, "/slurm/v0.0.40/node/")
	if !ok || r.Header.Get("X-SLURM-USER-NAME") != "slurm" || r.Header.Get("X-SLURM-USER-TOKEN") != "token-2" {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, "Authentication failure")
		return
	}
	n := s.nodes[name]
	switch {
	case s.down:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"errors":[{"description":"Unable to contact slurm controller (connect failure)","error_number":1800,"error":"Unable to contact slurm controller (connect failure)"}]}`)
	case n == nil:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"nodes":[],"errors":[{"description":"Failure to query node","error_number":2009,"error":"Invalid node name specified"}]}`)
	case r.Method == http.MethodGet:
		s.show(w, name, n)
	default:
		var update struct {
			Weight *struct {
				Set    bool   `json:"set"`
				Number uint32 `json:"number"`
			} `json:"weight"`
			Features *[]string `json:"features"`
			Active   *[]string `json:"features_act"`
		}
		decoder := json.NewDecoder(r.Body)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&update); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"errors":[{"description":%q,"error_number":1}]}`, err)
			return
		}
		if update.Weight != nil && update.Weight.Set {
			n.Weight = update.Weight.Number
		}
		if update.Features != nil {
			n.Available, n.Active = *update.Features, *update.Active
		}
		io.WriteString(w, `{"meta":{},"errors":[],"warnings":[]}`)
	}
}

func (s *restd) show(w http.ResponseWriter, name string, n *node) {
	answer := map[string]any{"name": name, "weight": n.Weight, "features": append([]string{}, n.Available...), "active_features": append([]string{}, n.Active...), "state": []string{"IDLE"}}
	if s.older {
		answer["weight"], answer["features"], answer["active_features"] = map[string]any{"set": true, "infinite": false, "number": n.Weight}, list(n.Available), list(n.Active)
	}
	json.NewEncoder(w).Encode(map[string]any{"nodes": []any{answer}, "errors": []any{}, "meta": map[string]any{}})
}

func TestSlurmrestd(t *testing.T) {
	for _, older := range []bool{false, true} {
		daemon := &restd{older: older, nodes: map[string]*node{"n1": {Weight: 1, Available: []string{"b", "a"}, Active: []string{"a"}}, "n2": {Weight: 2}}}
		server := httptest.NewServer(daemon)
		token := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(token, []byte("SLURM_JWT=token-2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg := DefaultConfig()
		cfg.Feature, cfg.REST = "hot", RESTConfig{URL: secret.NewURL(server.URL), Version: "v0.0.40", User: "slurm", TokenFile: token}
		if err := cfg.Validate(); err != nil {
			t.Fatal(err)
		}
		s, err := New(cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		before, err := s.Look(t.Context(), []string{"n1", "n2", "gone", "../n2"})
		if err != nil || len(before) != 2 {
			t.Fatalf("%v, %v", before, err)
		}
		to := map[string]reconcile.State{}
		for name, now := range before {
			if to[name], err = s.Avoid(now); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Set(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		if n := daemon.nodes["n1"]; n.Weight != 1000 || list(n.Active) != "a,hot" || list(n.Available) != "a,b,hot" {
			t.Errorf("marked %+v", n)
		}
		if err := s.Set(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		if n := daemon.nodes["n1"]; n.Weight != 1 || list(n.Active) != "a" || list(n.Available) != "b,a" {
			t.Errorf("put back %+v", n)
		}
		daemon.mu.Lock()
		daemon.down = true
		daemon.mu.Unlock()
		if _, err := s.Look(t.Context(), []string{"n1"}); err == nil || !strings.Contains(err.Error(), "Unable to contact") {
			t.Errorf("a controller that is away: %v", err)
		}
		server.Close()
		if _, err := s.Look(t.Context(), []string{"n1"}); err == nil || strings.Contains(err.Error(), "token-2") {
			t.Errorf("a server that is away: %v", err)
		}
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	cfg := Config{Enabled: true, Feature: "a b", ClearFeature: "-x,", Weight: 1 << 20, REST: RESTConfig{URL: secret.NewURL("host"), Version: "v0.0.38", Token: secret.NewText("x"), TokenFile: "y"}}
	err := cfg.Validate()
	for _, key := range []string{"weight", "feature", "clear_feature", "scontrol", "timeout", "rest.version", "rest.token_file", "rest.url", "raise_at", "allow"} {
		if err == nil || !strings.Contains(err.Error(), key+":") {
			t.Errorf("no fault of %s in %v", key, err)
		}
	}
	if cfg := DefaultConfig(); cfg.Validate() != nil || cfg.Enabled || !cfg.DryRun {
		t.Error("by default it is off, and a dry run")
	}
}

// A response beyond the limit is an error, even if what fits in the limit would parse.
func TestATooLargeResponseIsAnError(t *testing.T) {
	body := `{"nodes":[]}` + strings.Repeat(" ", maxOutput)
	_, err := decode(&http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: io.NopCloser(strings.NewReader(body))}, http.MethodGet, "n1")
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("more than %d bytes", maxOutput)) {
		t.Errorf("%v", err)
	}
}

// The weight read is the one restored after relief, so a node without a valid one is an error, not a weight of 0.
func TestANodeWithoutAWeightIsAnError(t *testing.T) {
	for weight, valid := range map[string]bool{`0`: true, `4294967295`: true, `{"set":true,"number":3}`: true,
		`null`: false, `-1`: false, `4294967296`: false, `{"set":false,"number":3}`: false, `{"set":true,"infinite":true,"number":3}`: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"nodes":[{"name":"n1","weight":%s,"state":["IDLE"]}],"errors":[]}`, weight)
		}))
		cfg := DefaultConfig()
		cfg.REST = RESTConfig{URL: secret.NewURL(server.URL), Version: "v0.0.40", User: "slurm", Token: secret.NewText("token")}
		s, err := New(cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Look(t.Context(), []string{"n1"}); (err == nil) != valid || !valid && !strings.Contains(err.Error(), "node n1: the answer contains no valid weight") {
			t.Errorf("weight %s: %v", weight, err)
		}
		server.Close()
	}
}

// A redirect is not followed, as it would turn a POST into a GET that changes nothing; and a 404 of a proxy does not mean that a
// node is gone: its mark would be forgotten.
func TestAnswersOfAnotherServer(t *testing.T) {
	other := func(answer http.HandlerFunc) *Scheduler {
		server := httptest.NewServer(answer)
		t.Cleanup(server.Close)
		cfg := DefaultConfig()
		cfg.REST = RESTConfig{URL: secret.NewURL(server.URL), Version: "v0.0.40", User: "slurm", Token: secret.NewText("token")}
		s, err := New(cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const answer = `{"nodes":[{"name":"n1","weight":1,"state":["IDLE"]}],"errors":[]}`
	moved := other(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Redirect(w, r, "/elsewhere"+r.URL.Path, http.StatusMovedPermanently)
		}
		io.WriteString(w, answer)
	})
	if err := moved.Set(t.Context(), map[string]reconcile.State{"n1": `{"weight":7}`}); err == nil || !strings.Contains(err.Error(), "301 Moved Permanently") {
		t.Errorf("a redirect: %v", err)
	}
	for body, gone := range map[string]bool{`{"message":"no Route matched with those values"}`: false, `{"nodes":[],"errors":[]}`: true} {
		s := other(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, body)
		})
		if now, err := s.Look(t.Context(), []string{"n1"}); (err == nil) != gone || len(now) != 0 || !gone && !strings.Contains(err.Error(), "404 Not Found") {
			t.Errorf("404 with %s: %v, %v", body, now, err)
		}
	}
}

// Of many nodes a few are requested at a time, and those that Slurm does not know are left out.
func TestManyNodesOfSlurmrestd(t *testing.T) {
	daemon := &restd{nodes: map[string]*node{}}
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprint("n", i))
		if i%10 > 0 {
			daemon.nodes[names[i]] = &node{Weight: uint32(i)}
		}
	}
	var running, most atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(time.Millisecond)
		daemon.ServeHTTP(w, r)
	}))
	defer server.Close()
	cfg := DefaultConfig()
	cfg.REST = RESTConfig{URL: secret.NewURL(server.URL), Version: "v0.0.40", User: "slurm", Token: secret.NewText("token-2")}
	s, err := New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	now, err := s.Look(t.Context(), names)
	if err != nil || len(now) != 180 || now["n199"] != `{"weight":199}` {
		t.Errorf("%d nodes, n199 %s, %v", len(now), now["n199"], err)
	}
	if n := most.Load(); n < 2 || n > atATime {
		t.Errorf("%d requests at a time", n)
	}
}
