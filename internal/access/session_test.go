package access

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func (g *gate) login(from, body string) *httptest.ResponseRecorder {
	return g.ask(http.MethodPost, "/login", from, http.Header{"Content-Type": {"application/json"}}, body)
}

func TestSessions(t *testing.T) {
	g := newGate(t, "0.0.0.0:9401", nil)
	if w := g.ask(http.MethodGet, "/login", elsewhere, nil, ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `type="password"`) || strings.Contains(w.Body.String(), "<script") {
		t.Errorf("the form: %d %s", w.Code, w.Body)
	}
	w := g.login(elsewhere, fmt.Sprintf(`{"token":%q}`, g.tokens[Operator]))
	if w.Code != http.StatusOK || w.Body.String() != `{"name":"the-operator","role":"operator"}`+"\n" {
		t.Fatalf("login: %d %s", w.Code, w.Body)
	}
	set := w.Result().Cookies()[0]
	if !set.HttpOnly || set.SameSite != http.SameSiteStrictMode || set.Path != "/" || set.Secure || set.MaxAge != int(g.cfg.Session.Seconds()) || strings.Contains(set.Value, "gvy_") {
		t.Errorf("cookie %+v", set)
	}
	cookie := http.Header{"Cookie": {set.Name + "=" + set.Value}}
	ask := func() string {
		return g.ask(http.MethodGet, "/api/v1/fabrics", elsewhere, cookie.Clone(), "").Body.String()
	}
	if got := ask(); got != "the-operator operator session" {
		t.Errorf("with the cookie: %s", got)
	}
	g.now = g.now.Add(g.cfg.Session - time.Second)
	if got := ask(); got != "the-operator operator session" {
		t.Errorf("before the end: %s", got)
	}
	g.now = g.now.Add(time.Second)
	if got := ask(); !strings.Contains(got, "401") {
		t.Errorf("after the end: %s", got)
	}
	form := g.ask(http.MethodPost, "/login", elsewhere, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, "token="+g.tokens[Viewer])
	if form.Code != http.StatusSeeOther || form.Header().Get("Location") != "./" {
		t.Fatalf("by the form: %d %v", form.Code, form.Header())
	}
	cookie.Set("Cookie", cookieName+"="+form.Result().Cookies()[0].Value)
	if got := ask(); got != "the-viewer viewer session" {
		t.Errorf("by the form: %s", got)
	}
	if w := g.ask(http.MethodPost, "/logout", elsewhere, cookie.Clone(), ""); w.Code != http.StatusNoContent || w.Result().Cookies()[0].MaxAge >= 0 {
		t.Errorf("logout: %d %v", w.Code, w.Header())
	}
	if got := ask(); !strings.Contains(got, "401") {
		t.Errorf("after the logout: %s", got)
	}
}

func TestLoginsAreRefused(t *testing.T) {
	g := newGate(t, "0.0.0.0:9401", nil)
	for name, c := range map[string]struct {
		method, kind, body string
		want               int
	}{
		"wrong":         {"POST", "application/json", `{"token":"gvy_x"}`, 401},
		"empty":         {"POST", "application/json", `{}`, 400},
		"no JSON":       {"POST", "application/json", `token`, 400},
		"text":          {"POST", "text/plain", `{"token":"x"}`, 415},
		"nothing":       {"POST", "", "", 415},
		"too long":      {"POST", "application/json", `{"token":"` + strings.Repeat("x", 5<<20) + `"}`, 413},
		"by PUT":        {"PUT", "application/json", `{}`, 405},
		"a form, wrong": {"POST", "application/x-www-form-urlencoded", "token=x", 401},
	} {
		w := g.ask(c.method, "/login", elsewhere, http.Header{"Content-Type": {c.kind}}, c.body)
		if w.Code != c.want || len(w.Result().Cookies()) > 0 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if w := g.ask(http.MethodGet, "/logout", elsewhere, nil, ""); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
		t.Errorf("logout by GET: %d", w.Code)
	}
	other := http.Header{"Content-Type": {"application/json"}, "Sec-Fetch-Site": {"cross-site"}}
	if w := g.ask(http.MethodPost, "/login", elsewhere, other, fmt.Sprintf(`{"token":%q}`, g.tokens[Admin])); w.Code != http.StatusForbidden {
		t.Errorf("from another site: %d", w.Code)
	}
	for range 20 {
		g.login("192.0.2.8", `{"token":"guess"}`)
	}
	if w := g.login("192.0.2.8", `{"token":"guess"}`); w.Code != http.StatusTooManyRequests {
		t.Errorf("another guess after twenty: %d", w.Code)
	}
	if n := strings.Count(g.log.String(), "login refused"); n > 15 {
		t.Errorf("%d lines for guesses", n)
	}
	if w := g.login("192.0.2.8", fmt.Sprintf(`{"token":%q}`, g.tokens[Admin])); w.Code >= 400 {
		t.Errorf("the right token after twenty guesses: %d", w.Code)
	}
	if text := g.log.String(); strings.Contains(text, "guess") || strings.Contains(text, "gvy_") {
		t.Errorf("tokens are logged: %s", text)
	}
}

// A token removed from the file becomes invalid, and so do the sessions that began with it; an invalid file changes
// nothing.
func TestTokensAreReadAgain(t *testing.T) {
	g := newGate(t, "0.0.0.0:9401", nil)
	cookie := http.Header{"Cookie": {cookieName + "=" + g.login(elsewhere, fmt.Sprintf(`{"token":%q}`, g.tokens[Admin])).Result().Cookies()[0].Value}}
	codes := func() [2]int {
		return [2]int{g.ask(http.MethodGet, "/api/v1/x", elsewhere, bearer(g.tokens[Admin]), "").Code, g.ask(http.MethodGet, "/api/v1/x", elsewhere, cookie.Clone(), "").Code}
	}
	write := func(text string) {
		if err := os.WriteFile(g.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		g.now = g.now.Add(2 * time.Second)
	}
	was, err := os.ReadFile(g.file)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		text string
		want [2]int
	}{{string(was) + "\n# more\n", [2]int{200, 200}}, {"nonsense", [2]int{200, 200}}, {"", [2]int{401, 401}}, {string(was), [2]int{200, 200}}} {
		write(step.text)
		if got := codes(); got != step.want {
			t.Errorf("step %d: token and session %v, want %v", i, got, step.want)
		}
	}
	if n := strings.Count(g.log.String(), "tokens file not readable"); n != 1 {
		t.Errorf("the fault is logged %d times", n)
	}
	if err := os.Remove(g.file); err != nil {
		t.Fatal(err)
	}
	g.now = g.now.Add(2 * time.Second)
	if got := codes(); got != [2]int{401, 401} {
		t.Errorf("without the file: %v", got)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	s := sessions{byID: map[string]session{}}
	now := time.Unix(1_700_000_000, 0)
	first := s.begin(token{name: "first"}, now, time.Minute)
	for range maxSessions {
		s.begin(token{}, now, time.Hour)
	}
	if _, ok := s.find(first, now); ok || len(s.byID) != maxSessions {
		t.Errorf("%d sessions, the first to end is there: %v", len(s.byID), ok)
	}
	s.begin(token{}, now.Add(2*time.Hour), time.Hour)
	if len(s.byID) != 1 {
		t.Errorf("%d sessions after all have ended", len(s.byID))
	}
}

func TestTokensFile(t *testing.T) {
	good := "ops operator sha256:" + strings.Repeat("0a", 32)
	for text, want := range map[string]string{
		"":                           "",
		"# nothing\n\n":              "",
		good + " # a comment\n":      "",
		"ops operator\n":             "line 1: want NAME ROLE sha256:HEX",
		"\nops root sha256:00\n":     `line 2: role "root"`,
		"ops admin hunter2\n":        "line 1: want sha256: and 64 hexadecimal digits",
		"ops admin sha256:0a0a\n":    "line 1: want sha256:",
		good + "\nops admin sha256:": "line 2: want sha256:",
	} {
		_, err := parseTokens([]byte(text))
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	path := t.TempDir() + "/tokens"
	if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := openTokens(path); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("a file that everyone can write: %v", err)
	}
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := openTokens(path); err == nil || !strings.Contains(err.Error(), path+": it is a named pipe") {
		t.Errorf("a named pipe: %v", err)
	}
}

func FuzzTokensFile(f *testing.F) {
	f.Add([]byte("ops operator sha256:" + strings.Repeat("0a", 32) + "\n# x\n"))
	f.Add([]byte("a viewer sha256:zz"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parseTokens(text)
		if err == nil && len(list) > bytes.Count(text, []byte("\n"))+1 {
			t.Errorf("%d tokens in %q", len(list), text)
		}
		for _, one := range list {
			if one.name == "" || one.role < Viewer || one.role >= numRoles {
				t.Errorf("token %+v of %q", one, text)
			}
		}
	})
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		listen       string
		certificates bool
		change       func(*Config)
		refused      bool
	}{
		{"127.0.0.1:9401", false, nil, false}, {"localhost:0", false, nil, false}, {"[::1]:1", false, nil, false}, {"127.9.9.9:1", false, nil, false},
		{":9401", false, nil, true}, {"0.0.0.0:9401", false, nil, true}, {"[::]:9401", false, nil, true}, {"192.0.2.1:9401", false, nil, true}, {"fabric.example:9401", false, nil, true}, {"", false, nil, true},
		{":9401", true, nil, false}, {":9401", false, func(c *Config) { c.Insecure = true }, false}, {":9401", false, func(c *Config) { c.Tokens = "x" }, false},
		{":9401", false, func(c *Config) { c.Proxies.From = []string{"10.0.0.1"} }, false},
	} {
		cfg := DefaultConfig()
		if c.change != nil {
			c.change(&cfg)
		}
		if err := cfg.CheckAddress(c.listen, c.certificates); (err != nil) != c.refused {
			t.Errorf("%q: %v", c.listen, err)
		}
	}
	cfg := Config{Insecure: true, Tokens: "x", Proxies: Proxies{From: []string{"10.0.0.0/33"}}}
	err := cfg.Validate()
	for _, key := range []string{"proxies.from: \"10.0.0.0/33\"", "proxies.user_header", "session", "limits.requests_per_second", "limits.burst", "limits.failures_per_minute", "limits.body_bytes", "insecure: true, but"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("no fault at %s in %v", key, err)
		}
	}
}
