package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/internal/incluster"
	"github.com/giverny/giverny/internal/secret"
)

// apiServer stores nodes like the API server: merge patches with a required resource
// version.
type apiServer struct {
	mu       sync.Mutex
	nodes    map[string]map[string]any
	version  int
	conflict int // number of patches to reject as conflicts
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fail := func(code int, message string) {
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, strings.ReplaceAll(http.StatusText(code), " ", ""), code)
	}
	name, ok := strings.CutPrefix(r.URL.Path, "/api/v1/nodes/")
	n := s.nodes[name]
	switch {
	case r.Header.Get("Authorization") != "Bearer fresh":
		fail(http.StatusUnauthorized, "Unauthorized")
	case !ok || n == nil:
		fail(http.StatusNotFound, "nodes not found")
	case r.Method == http.MethodGet:
		json.NewEncoder(w).Encode(n)
	case r.Header.Get("Content-Type") != "application/merge-patch+json":
		fail(http.StatusUnsupportedMediaType, "want a merge patch")
	default:
		var patch map[string]any
		if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
			fail(http.StatusBadRequest, err.Error())
			return
		}
		metadata := n["metadata"].(map[string]any)
		if s.conflict > 0 {
			s.conflict--
			metadata["resourceVersion"] = fmt.Sprint("other", s.conflict)
		}
		if patch["metadata"].(map[string]any)["resourceVersion"] != metadata["resourceVersion"] {
			fail(http.StatusConflict, "the object has been modified")
			return
		}
		merge(n, patch)
		s.version++
		metadata["resourceVersion"] = fmt.Sprint(s.version)
		json.NewEncoder(w).Encode(n)
	}
}

// merge is RFC 7386.
func merge(to, patch map[string]any) {
	for key, value := range patch {
		inner, isObject := value.(map[string]any)
		have, _ := to[key].(map[string]any)
		switch {
		case value == nil:
			delete(to, key)
		case isObject && have != nil:
			merge(have, inner)
		default:
			to[key] = value
		}
	}
}

func parseNode(t *testing.T, text string) (n map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestLabelsAndTaints(t *testing.T) {
	const others = `{"effect":"NoSchedule","key":"giverny.dev/congested","value":"mine"},{"effect":"NoExecute","key":"k","timeAdded":"2026-01-01T00:00:00Z"}`
	server := &apiServer{conflict: 2, nodes: map[string]map[string]any{
		"n1": parseNode(t, `{"metadata":{"name":"n1","resourceVersion":"1","labels":{"zone":"a"}},"spec":{"podCIDR":"x","taints":[`+others+`]}}`),
		"n2": parseNode(t, `{"metadata":{"name":"n2","resourceVersion":"1","labels":{"giverny.dev/congested":"by hand"}},"spec":{}}`)}}
	before, err := json.Marshal(server.nodes["n1"]["spec"])
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	cfg := DefaultConfig().Nodes
	cfg.Taint, cfg.URL, cfg.TokenFile = "giverny.dev/congested", secret.NewURL(web.URL), filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(cfg.TokenFile, []byte("fresh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	nodes, err := NewNodes(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	now, err := nodes.Look(t.Context(), []string{"n1", "n2", "gone", "../n1", "n1?x=1"})
	if err != nil || len(now) != 2 {
		t.Fatalf("%v, %v", now, err)
	}
	if _, err := nodes.Avoid(now["n2"]); err == nil {
		t.Error("a label that was set by hand would be overwritten")
	}
	marked, err := nodes.Avoid(now["n1"])
	if err != nil {
		t.Fatal(err)
	}
	if err := nodes.Set(t.Context(), map[string]reconcile.State{"n1": marked}); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(server.nodes["n1"])
	for _, want := range []string{`"giverny.dev/congested":"true"`, `"zone":"a"`, others, `{"effect":"PreferNoSchedule","key":"giverny.dev/congested","value":"true"}`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	is, err := nodes.Look(t.Context(), []string{"n1"})
	if err != nil || is["n1"] != marked {
		t.Errorf("%v, %v; want %v", is, err, marked)
	}
	renamed := cfg
	renamed.Label, renamed.Taint, renamed.Effect = "site/busy", "site/busy", "NoSchedule"
	if other, err := NewNodes(renamed, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	} else if earlier, err := other.Marking(nodes.Marks()); err != nil {
		t.Error(err)
	} else if is, err := earlier.Look(t.Context(), []string{"n1"}); err != nil || is["n1"] != marked {
		t.Errorf("under other keys the mark is seen as %v, %v; want %v", is, err, marked)
	}
	back, found := nodes.Undo(is["n1"], now["n1"], marked)
	if found != reconcile.Stands || back != now["n1"] {
		t.Errorf("relief to %s, found %v", back, found)
	}
	if err := nodes.Set(t.Context(), map[string]reconcile.State{"n1": back}); err != nil {
		t.Fatal(err)
	}
	after, _ := json.Marshal(server.nodes["n1"]["spec"])
	if text, _ := json.Marshal(server.nodes["n1"]); string(after) != string(before) || strings.Contains(string(text), `"giverny.dev/congested":"true"`) {
		t.Errorf("after the relief %s", text)
	}
	server.conflict = tries
	if err := nodes.Set(t.Context(), map[string]reconcile.State{"n1": marked}); err == nil || !strings.Contains(err.Error(), "in a row") {
		t.Errorf("somebody else is always faster: %v", err)
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	cfg := Config{Extender: ExtenderConfig{Enabled: true, FilterAt: 101}, Nodes: NodesConfig{Enabled: true, Label: "a b", Effect: "NoExecute", URL: secret.NewURL("x")}}
	err := cfg.Validate()
	for _, key := range []string{"extender.allow", "extender.filter_at", "extender.max_age", "nodes.label", "nodes.effect", "nodes.url", "nodes.timeout", "nodes.allow", "nodes.raise_at"} {
		if err == nil || !strings.Contains(err.Error(), key+":") {
			t.Errorf("no fault of %s in %v", key, err)
		}
	}
	if cfg := DefaultConfig(); cfg.Validate() != nil || cfg.Extender.Enabled || cfg.Nodes.Enabled || !cfg.Extender.DryRun || !cfg.Nodes.DryRun {
		t.Error("by default it is off, and a dry run")
	}
}

func TestWithoutAnAddressItIsThePodsCluster(t *testing.T) {
	cfg := DefaultConfig().Nodes
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := NewNodes(cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "feedback.kubernetes.nodes.url: empty") {
		t.Errorf("in no cluster: %v", err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	if _, err := NewNodes(cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), incluster.CAFile) {
		t.Errorf("without the service account's files: %v", err)
	}
}

// nodesAt are the nodes of the API server at a URL.
func nodesAt(t *testing.T, url string) *Nodes {
	t.Helper()
	cfg := DefaultConfig().Nodes
	cfg.URL = secret.NewURL(url)
	nodes, err := NewNodes(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

// A 404 of a proxy does not mean that a node is gone: its mark would be forgotten.
func TestA404OfAnotherServerIsAnError(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	nodes := nodesAt(t, web.URL)
	if now, err := nodes.Look(t.Context(), []string{"n1"}); err == nil || !strings.Contains(err.Error(), "feedback.kubernetes.nodes.url") {
		t.Errorf("%v, %v", now, err)
	}
}

// Hundreds of nodes are read and changed a few at a time: as many are restored while the process stops.
func TestHundredsOfNodes(t *testing.T) {
	server := &apiServer{nodes: map[string]map[string]any{}}
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprint("n", i))
		server.nodes[names[i]] = map[string]any{"metadata": map[string]any{"name": names[i], "resourceVersion": "1"}, "spec": map[string]any{}}
	}
	var running, most atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(time.Millisecond)
		server.ServeHTTP(w, r)
	}))
	defer web.Close()
	cfg := DefaultConfig().Nodes
	cfg.URL, cfg.TokenFile = secret.NewURL(web.URL), filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(cfg.TokenFile, []byte("fresh"), 0o600); err != nil {
		t.Fatal(err)
	}
	nodes, err := NewNodes(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	to := map[string]reconcile.State{}
	before, err := nodes.Look(t.Context(), names)
	for name, now := range before {
		marked, markErr := nodes.Avoid(now)
		to[name], err = marked, errors.Join(err, markErr)
	}
	if err = errors.Join(err, nodes.Set(t.Context(), to)); err != nil {
		t.Fatal(err)
	}
	if is, err := nodes.Look(t.Context(), names); err != nil || len(is) != len(names) || !maps.Equal(is, to) {
		t.Errorf("%d nodes, %v", len(is), err)
	}
	if n := most.Load(); n < 2 || n > atATime {
		t.Errorf("%d requests at a time", n)
	}
}

// A redirect is not followed: it would turn a PATCH into a GET that changes nothing.
func TestARedirectIsAnError(t *testing.T) {
	web := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusMovedPermanently))
	defer web.Close()
	nodes := nodesAt(t, web.URL)
	if _, err := nodes.Look(t.Context(), []string{"n1"}); err == nil || !strings.Contains(err.Error(), "301 Moved Permanently") {
		t.Error(err)
	}
}

// A response beyond the limit is an error, even if what fits in the limit would parse.
func TestATooLargeResponseIsAnError(t *testing.T) {
	body := `{"metadata":{"name":"n1"}}` + strings.Repeat(" ", maxNode)
	var n apiNode
	err := decode(&http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: io.NopCloser(strings.NewReader(body))}, http.MethodGet, "n1", &n)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("more than %d bytes", maxNode)) {
		t.Errorf("%v", err)
	}
}

// An answer that is not the node is an error, whatever its status: taken for a node without marks, its taints would be lost.
func TestAnAnswerWithoutTheNodeIsAnError(t *testing.T) {
	for name, body := range map[string]string{
		"empty":         `{}`,
		"a status":      `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`,
		"another node":  `{"metadata":{"name":"n2","resourceVersion":"1"},"spec":{}}`,
		"no version":    `{"metadata":{"name":"n1"},"spec":{}}`,
		"half a body":   `{"metadata":{"name":"n1","resourceVersion":"1"},"spec":{"taints":[{"key":"ot`,
		"not JSON":      `<html>welcome</html>`,
		"nothing":       ``,
		"another shape": `[]`,
	} {
		var patches atomic.Int32
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPatch {
				patches.Add(1)
			}
			io.WriteString(w, body)
		}))
		nodes := nodesAt(t, web.URL)
		if now, err := nodes.Look(t.Context(), []string{"n1"}); err == nil {
			t.Errorf("%s: the node is read as %v", name, now)
		}
		if err := nodes.Set(t.Context(), map[string]reconcile.State{"n1": `{"label":"true"}`}); err == nil || patches.Load() > 0 {
			t.Errorf("%s: %v after %d patches", name, err, patches.Load())
		}
		web.Close()
	}
}

// An API server with too much to do is asked again after the pause that it wants, if that is short; otherwise the error says
// so, and no other node is tried meanwhile.
func TestAnOverloadedServerIsGivenAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			status   int
			after    string
			busy     int // answers until it has time
			requests int
			waits    time.Duration
			fails    bool
		}{
			{429, "1", 2, 3, 2 * time.Second, false}, {429, "", 1, 2, time.Second, false}, {503, "4", 1, 2, 4 * time.Second, false},
			{429, "1", 100, 11, 10 * time.Second, true}, {429, "3600", 1, 1, 0, true}, {500, "", 1, 1, 0, true}, {503, "", 1, 1, 0, true},
		} {
			requests := 0
			nodes := nodesAt(t, "http://api.invalid")
			nodes.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				requests++
				response := &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{}, Request: r,
					Body: io.NopCloser(strings.NewReader(`{"metadata":{"name":"n1","resourceVersion":"1"}}`))}
				if requests <= c.busy {
					response.StatusCode, response.Status = c.status, fmt.Sprint(c.status, " ", http.StatusText(c.status))
					if c.after != "" {
						response.Header.Set("Retry-After", c.after)
					}
				}
				return response, nil
			})
			began := time.Now()
			_, err := nodes.Look(t.Context(), []string{"n1"})
			if (err != nil) != c.fails || requests != c.requests || time.Since(began) != c.waits {
				t.Errorf("%+v: %v after %d requests and %v", c, err, requests, time.Since(began))
			}
			if asks := c.status == 429; c.fails && errors.Is(err, reconcile.ErrOverloaded) != asks {
				t.Errorf("%+v: %v", c, err)
			}
		}
	})
}

type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Where no answer comes, the rest of hundreds of nodes is not tried: reliefs, and the stop, would wait for each.
func TestSetGivesUpOnAServerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := nodesAt(t, "http://api.invalid")
		nodes.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		to := map[string]reconcile.State{}
		for i := range 500 {
			to[fmt.Sprint("n", i)] = `{"label":"true"}`
		}
		began := time.Now()
		err := nodes.Set(t.Context(), to)
		if took := time.Since(began); err == nil || took > 2*nodes.cfg.Timeout || !strings.Contains(err.Error(), "does not answer in time") {
			t.Errorf("after %v: %v", took, err != nil)
		}
	})
}
