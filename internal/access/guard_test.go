package access

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// gate is a guard before a handler that returns the client's identity, with the test's own clock.
type gate struct {
	*Guard
	t      *testing.T
	now    time.Time
	log    *strings.Builder
	tokens map[Role]string
	file   string
	http.Handler
}

// newGate returns a gate of a listener that other hosts can reach, with a token of each role unless the
// configuration is changed.
func newGate(t *testing.T, listen string, change func(*Config)) *gate {
	t.Helper()
	g := &gate{t: t, now: time.Unix(1_700_000_000, 0), log: &strings.Builder{}, tokens: map[Role]string{}, file: filepath.Join(t.TempDir(), "tokens")}
	var lines strings.Builder
	for role := Viewer; role < numRoles; role++ {
		token, line, err := NewToken("the-"+role.String(), role)
		if err != nil {
			t.Fatal(err)
		}
		g.tokens[role] = token.Reveal()
		fmt.Fprintln(&lines, line)
	}
	if err := os.WriteFile(g.file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Tokens = g.file
	if change != nil {
		change(&cfg)
	}
	var err error
	if g.Guard, err = New(cfg, listen, false, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(g.log, nil))); err != nil {
		t.Fatal(err)
	}
	g.Guard.now = func() time.Time { return g.now }
	g.Handler = g.Before(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		who := Of(r.Context())
		fmt.Fprintf(w, "%s %s %s", who.Name, who.Role, who.By)
	}))
	return g
}

// ask sends a request from an address.
func (g *gate) ask(method, path, from string, header http.Header, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "giverny.example:9401"
	r.RemoteAddr = from + ":40000"
	if header != nil {
		r.Header = header
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

const elsewhere = "192.0.2.7"

// All ways to identify a client, and requests without identity.
func TestWhoAsks(t *testing.T) {
	g := newGate(t, "0.0.0.0:9401", func(c *Config) {
		c.Proxies.From, c.Proxies.Operators, c.Proxies.Admins = []string{"10.1.0.0/16", "10.9.9.9"}, []string{"ops"}, []string{"root"}
	})
	user := func(groups string) http.Header {
		return http.Header{"X-Forwarded-User": {"ada"}, "X-Forwarded-Groups": {groups}}
	}
	for name, c := range map[string]struct {
		from   string
		header http.Header
		want   string // the response, or the status
	}{
		"nothing":                      {elsewhere, nil, "401"},
		"this host":                    {"127.0.0.1", nil, "401"},
		"a viewer's token":             {elsewhere, bearer(g.tokens[Viewer]), "the-viewer viewer token"},
		"an operator's token":          {elsewhere, bearer(g.tokens[Operator]), "the-operator operator token"},
		"an admin's token":             {elsewhere, bearer(g.tokens[Admin]), "the-admin admin token"},
		"a wrong token":                {elsewhere, bearer("gvy_wrong"), "401"},
		"a token with more behind it":  {elsewhere, bearer(g.tokens[Viewer] + "x"), "401"},
		"an empty token":               {elsewhere, bearer(""), "401"},
		"a hash":                       {elsewhere, bearer(fmt.Sprintf("%x", g.Guard.tokens.list[0].hash)), "401"},
		"another scheme":               {elsewhere, http.Header{"Authorization": {"Basic " + g.tokens[Viewer]}}, "401"},
		"a made-up session":            {elsewhere, http.Header{"Cookie": {cookieName + "=x"}}, "401"},
		"a proxy":                      {"10.1.2.3", user(""), "ada viewer proxy"},
		"a proxy, IPv4 in IPv6":        {"[::ffff:10.1.2.3]", user(""), "ada viewer proxy"},
		"a proxy by its address":       {"10.9.9.9", user(""), "ada viewer proxy"},
		"a proxy's operator":           {"10.1.2.3", user("staff, ops"), "ada operator proxy"},
		"a proxy's admin":              {"10.1.2.3", user("root,ops"), "ada admin proxy"},
		"a proxy that names no one":    {"10.1.2.3", http.Header{"X-Forwarded-Groups": {"root"}}, "401"},
		"headers of another":           {elsewhere, user("root"), "401"},
		"headers of another in a list": {elsewhere, http.Header{"X-Forwarded-User": {"ada"}, "X-Forwarded-For": {"10.1.2.3"}}, "401"},
	} {
		w := g.ask(http.MethodGet, "/api/v1/fabrics", c.from, c.header, "")
		if got := w.Body.String(); got != c.want && fmt.Sprint(w.Code) != c.want {
			t.Errorf("%s: %d %s, want %s", name, w.Code, got, c.want)
		}
		if w.Code == http.StatusUnauthorized && (w.Header().Get("WWW-Authenticate") == "" || w.Header().Get("Content-Type") != "application/problem+json") {
			t.Errorf("%s: headers %v", name, w.Header())
		}
	}
	for path, want := range map[string]int{"/": 200, "/app.js": 200, "/-/healthy": 200, "/-/ready": 200, "/-/other": 401, "/api/v1/openapi.json": 401, "/feedback/kubernetes/filter": 401, "/api/": 401} {
		if w := g.ask(http.MethodGet, path, elsewhere, nil, ""); w.Code != want {
			t.Errorf("%s without a token: %d, want %d", path, w.Code, want)
		}
	}
	if text := g.log.String(); strings.Contains(text, g.tokens[Viewer]) {
		t.Errorf("a token is logged: %s", text)
	}
}

// Without configuration, a listener on loopback is open to this host, but not to web sites open in its browser.
func TestOpenOnLoopback(t *testing.T) {
	open := func(c *Config) { c.Tokens = "" }
	g := newGate(t, "127.0.0.1:9401", open)
	for host, want := range map[string]int{"127.0.0.1:9401": 200, "localhost:9401": 200, "[::1]:9401": 200, "localhost": 200, "demo.LocalHost:9401": 200, "evil.example": 421, "evil.example:9401": 421, "localhost.evil.example": 421} {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/fabrics", nil)
		r.Host = host
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code != want || want == 200 && w.Body.String() != "loopback admin loopback" {
			t.Errorf("host %s: %d %s, want %d", host, w.Code, w.Body, want)
		}
	}
	insecure := newGate(t, "0.0.0.0:9401", func(c *Config) { c.Tokens, c.Insecure = "", true })
	if w := insecure.ask(http.MethodGet, "/api/v1/fabrics", elsewhere, nil, ""); w.Body.String() != "insecure admin insecure" {
		t.Errorf("insecure: %d %s", w.Code, w.Body)
	}
	if w := newGate(t, "127.0.0.1:9401", nil).ask(http.MethodGet, "/api/v1/fabrics", "127.0.0.1", nil, ""); w.Code != http.StatusUnauthorized {
		t.Errorf("with tokens, on loopback: %d", w.Code)
	}
}

// The answer over TLS, and only that, makes browsers use TLS from then on: a host without it would be out of reach.
func TestStrictTransportSecurity(t *testing.T) {
	g := newGate(t, "0.0.0.0:9401", nil)
	for url, want := range map[string]string{"http://giverny.example/": "", "https://giverny.example/": "max-age=31536000"} {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, url, nil))
		if got := w.Header().Get("Strict-Transport-Security"); got != want || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %q, want %q; %v", url, got, want, w.Header())
		}
	}
}

// Requests that change something are rejected if another site makes a browser send them.
func TestOtherSites(t *testing.T) {
	g := newGate(t, "0.0.0.0:9401", nil)
	for name, c := range map[string]struct {
		header map[string]string
		want   int
	}{
		"no browser":          {nil, 200},
		"the same origin":     {map[string]string{"Sec-Fetch-Site": "same-origin"}, 200},
		"another site":        {map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"another subdomain":   {map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		"an old browser":      {map[string]string{"Origin": "https://evil.example"}, 403},
		"an old browser here": {map[string]string{"Origin": "http://giverny.example:9401"}, 200},
	} {
		header := bearer(g.tokens[Admin])
		for key, value := range c.header {
			header.Set(key, value)
		}
		if w := g.ask(http.MethodPost, "/api/v1/searches", elsewhere, header, "{}"); w.Code != c.want {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if w := g.ask(http.MethodGet, "/api/v1/searches", elsewhere, header, ""); w.Code != http.StatusOK {
			t.Errorf("%s reads: %d", name, w.Code)
		}
	}
	if n := testutil.ToFloat64(g.metrics.refused.WithLabelValues("cross_origin")); n != 3 {
		t.Errorf("%v refused", n)
	}
}

func TestLimits(t *testing.T) {
	g := newGate(t, "0.0.0.0:9401", func(c *Config) {
		c.Limits.RequestsPerSecond, c.Limits.Burst, c.Limits.FailuresPerMinute, c.Limits.BodyBytes = 2, 4, 3, 1024
	})
	get := func(from string, header http.Header) *httptest.ResponseRecorder {
		return g.ask(http.MethodGet, "/api/v1/fabrics", from, header, "")
	}
	for range 4 {
		if w := get(elsewhere, bearer(g.tokens[Viewer])); w.Code != http.StatusOK {
			t.Fatalf("within the burst: %d", w.Code)
		}
	}
	w := get("192.0.2.99", bearer(g.tokens[Viewer])) // a token is one client at any address
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
		t.Errorf("beyond the burst: %d %v", w.Code, w.Header())
	}
	if w := get(elsewhere, bearer(g.tokens[Operator])); w.Code != http.StatusOK {
		t.Errorf("another client: %d", w.Code)
	}
	g.now = g.now.Add(time.Second)
	if w := get(elsewhere, bearer(g.tokens[Viewer])); w.Code != http.StatusOK {
		t.Errorf("a second later: %d", w.Code)
	}
	for i, want := range []int{401, 401, 401, 429} {
		if w := get("[2001:db8::"+fmt.Sprint(i)+"]", bearer("guess")); w.Code != want {
			t.Errorf("guess %d of a /64: %d, want %d", i, w.Code, want)
		}
	}
	if w := get("[2001:db8::1]", bearer(g.tokens[Admin])); w.Code != http.StatusOK {
		t.Errorf("the right token after too many guesses: %d", w.Code)
	}
	g.now = g.now.Add(21 * time.Second)
	if w := get("[2001:db8::1]", bearer("guess")); w.Code != http.StatusUnauthorized {
		t.Errorf("a guess a while later: %d", w.Code)
	}
	if w := g.ask(http.MethodPost, "/api/v1/searches", elsewhere, bearer(g.tokens[Admin]), strings.Repeat("x", 1025)); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a long body: %d", w.Code)
	}
}

// A scheduler sends two requests for each of thousands of jobs: once identified it is not rate limited, but others are.
func TestASchedulerIsNotLimited(t *testing.T) {
	g := newGate(t, "0.0.0.0:9401", func(c *Config) { c.Limits.RequestsPerSecond, c.Limits.Burst = 2, 4 })
	for name, c := range map[string]struct {
		header http.Header
		last   int
	}{"known": {bearer(g.tokens[Viewer]), http.StatusOK}, "unknown": {nil, http.StatusTooManyRequests}} {
		code := 0
		for range 1000 {
			code = g.ask(http.MethodPost, "/feedback/kubernetes/filter", elsewhere, c.header, "{}").Code
		}
		if code != c.last {
			t.Errorf("%s: the last of 1000 requests in a second: %d, want %d", name, code, c.last)
		}
	}
}

// The tables of clients are bounded, and an active client stays limited.
func TestClientsAreForgotten(t *testing.T) {
	l := newLimiters(1e-9, 1)
	now := time.Unix(1_700_000_000, 0)
	for i := range 5 * maxClients / 2 {
		if _, ok := l.take(fmt.Sprint("client ", i), now); !ok {
			t.Fatalf("client %d is limited from the start", i)
		}
		if _, ok := l.take("who asks often", now); ok != (i == 0) {
			t.Fatalf("who asks often, after %d others: %v", i, ok)
		}
	}
	if n := len(l.young) + len(l.older); n > 2*maxClients {
		t.Errorf("%d clients are kept", n)
	}
}

func TestRolesAreText(t *testing.T) {
	for role := Viewer; role < numRoles; role++ {
		var back Role
		if text, err := role.MarshalText(); err != nil || back.UnmarshalText(text) != nil || back != role {
			t.Errorf("%v comes back as %v", role, back)
		}
	}
	if who := Of(t.Context()); who.Role != None || None.String() != "none" || new(Role).UnmarshalText([]byte("none")) == nil {
		t.Errorf("without a guard: %v", who)
	}
}
