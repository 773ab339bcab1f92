package dashboards

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/dashboards/operation"
	"github.com/giverny/giverny/internal/access"
)

// Who may ask what: each role, and an unknown client, at every endpoint. Whether the fabric exists does not
// matter to that.
func TestRolesOfEndpoints(t *testing.T) {
	h := serve(t, nil, torus)
	tokens, guarded := guardedBy(t, h)
	for _, e := range append(endpoints(), demandOf(access.Operator), demandOf(access.Admin)) {
		for role := access.None; role <= access.Admin; role++ {
			w := askOf(guarded, e, tokens[role])
			want := "an answer"
			switch {
			case role == access.None:
				want = "401"
			case role < e.Role:
				want = "403"
			}
			got := "an answer"
			if w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden {
				got = fmt.Sprint(w.Code)
			}
			if got != want {
				t.Errorf("%s %s as %s: %d %s, want %s", e.Verb(), e.Path, role, w.Code, w.Body, want)
			}
		}
	}
}

// demandOf is an endpoint that needs a role, so that each role is tested whether the table has such an endpoint or not.
func demandOf(role access.Role) endpoint {
	return endpoint{ID: role.String(), Method: http.MethodPost, Path: "/test/" + role.String(), Role: role,
		Handler: operation.To(func(*Dashboards, context.Context, *nothing) (*session, error) { return &session{}, nil })}
}

// guardedBy serves the API and two more endpoints behind a guard, with a token for each role.
func guardedBy(t *testing.T, h *house) (map[access.Role]string, http.Handler) {
	t.Helper()
	tokens := map[access.Role]string{}
	var lines strings.Builder
	for role := access.Viewer; role <= access.Admin; role++ {
		token, line, err := access.NewToken(role.String(), role)
		if err != nil {
			t.Fatal(err)
		}
		tokens[role] = token.Reveal()
		fmt.Fprintln(&lines, line)
	}
	cfg := access.DefaultConfig()
	cfg.Tokens = filepath.Join(t.TempDir(), "tokens")
	cfg.Limits.Burst = 10_000
	if err := os.WriteFile(cfg.Tokens, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	guard, err := access.New(cfg, "0.0.0.0:9401", false, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	rows := append(endpoints(), demandOf(access.Operator), demandOf(access.Admin))
	(&operation.Server[*Dashboards]{Of: h.Dashboards, Prefix: Prefix, Rows: rows, Timeout: h.cfg.Timeout, Explain: explain, Observe: h.observe}).Register(mux)
	return tokens, guard.Before(mux)
}

func askOf(handler http.Handler, e endpoint, token string) *httptest.ResponseRecorder {
	path := strings.NewReplacer("{fabric}", "nowhere", "{region}", "1", "{link}", "1", "{job}", "1").Replace(e.Path)
	r := httptest.NewRequest(e.Verb(), Prefix+path, nil)
	if e.Path == "/stream" {
		r.URL.RawQuery = "fabrics=nowhere"
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// Methods that a path does not have are refused with those that it has; so are bodies of another type.
func TestMethods(t *testing.T) {
	h := serve(t, nil, torus)
	for path, allow := range map[string]string{"/api/v1/fabrics": "GET, HEAD", "/": "GET, HEAD", "/login": "GET, HEAD, POST"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, h.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusMethodNotAllowed || answer.Header.Get("Allow") != allow || answer.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("DELETE %s: %d %v", path, answer.StatusCode, answer.Header)
		}
	}
	head, err := http.Head(h.url + "/api/v1/fabrics")
	if err != nil {
		t.Fatal(err)
	}
	defer head.Body.Close()
	if head.StatusCode != http.StatusOK || head.Header.Get("ETag") == "" || head.ContentLength <= 0 {
		t.Errorf("HEAD: %d %v", head.StatusCode, head.Header)
	}
	if answer := h.getRaw("/feedback/kubernetes/filter", nil); answer.StatusCode != http.StatusNotFound {
		t.Errorf("a verb of the scheduler that is off: %d", answer.StatusCode)
	} else if body, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(body), "feedback.kubernetes.extender") {
		t.Errorf("it does not say how to turn it on: %s, %v", body, err)
	}
}
