package access

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/giverny/giverny/internal/problem"
)

// Guard identifies clients before handlers see their requests.
type Guard struct {
	cfg      Config
	open     string // why everyone has full access: loopback or insecure; else empty
	proxies  []netip.Prefix
	tokens   *tokenFile // nil: no tokens
	sessions sessions
	requests *limiters
	failures *limiters
	cross    *http.CrossOriginProtection
	now      func() time.Time
	log      *slog.Logger
	metrics  *metrics
}

type metrics struct{ refused *prometheus.CounterVec }

// refusals are the reasons for rejecting a request, for metrics.
func refusals() []string {
	return []string{"unknown_client", "login", "rate", "cross_origin", "host"}
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "giverny_http_refused_total",
		Help: "Requests that were rejected before they reached their handler, by reason."}, []string{"reason"})}
	if err := reg.Register(m.refused); err != nil {
		return nil, fmt.Errorf("access metrics: %w", err)
	}
	for _, reason := range refusals() {
		m.refused.WithLabelValues(reason)
	}
	return m, nil
}

// New returns a guard for a listener on the address; certificates says that it requests client certificates. It
// fails for an address that other hosts can reach if no client can be identified.
func New(cfg Config, listen string, certificates bool, reg prometheus.Registerer, log *slog.Logger) (*Guard, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := cfg.CheckAddress(listen, certificates); err != nil {
		return nil, err
	}
	m, err := newMetrics(reg)
	if err != nil {
		return nil, err
	}
	g := &Guard{cfg: cfg, sessions: sessions{byID: map[string]session{}},
		requests: newLimiters(rate.Limit(cfg.Limits.RequestsPerSecond), cfg.Limits.Burst),
		failures: newLimiters(rate.Limit(float64(cfg.Limits.FailuresPerMinute)/time.Minute.Seconds()), cfg.Limits.FailuresPerMinute),
		cross:    http.NewCrossOriginProtection(), now: time.Now, log: log, metrics: m}
	if g.proxies, err = cfg.Proxies.prefixes(); err != nil {
		return nil, err
	}
	if cfg.Tokens != "" {
		if g.tokens, err = openTokens(cfg.Tokens); err != nil {
			return nil, fmt.Errorf("tokens: %w", err)
		}
	}
	switch {
	case cfg.Insecure:
		g.open = "insecure"
	case g.tokens == nil && len(g.proxies) == 0 && !certificates:
		g.open = "loopback"
	}
	return g, nil
}

// isPublic reports whether a path needs no role: the page's static files, which contain no data, and the
// health checks. Everything else needs a role, in particular all below /api/ and /feedback/.
func isPublic(path string) bool {
	switch path {
	case "/-/healthy", "/-/ready":
		return true
	}
	return !strings.HasPrefix(path, "/api/") && !strings.HasPrefix(path, "/feedback/") && !strings.HasPrefix(path, "/-/")
}

// isOfMachines reports whether a path is for programs, such as a scheduler, that send requests for thousands of jobs:
// identified clients are not rate limited there.
func isOfMachines(path string) bool { return strings.HasPrefix(path, "/feedback/") }

// Before wraps a handler with the guard.
func (g *Guard) Before(next http.Handler) http.Handler {
	own := http.NewServeMux()
	own.HandleFunc("/login", g.login)
	own.HandleFunc("/logout", g.logout)
	own.Handle("/", next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header(), r.TLS != nil)
		who, err := g.check(r)
		if err != nil {
			g.fail(w, err)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, g.cfg.Limits.BodyBytes)
		own.ServeHTTP(w, r.WithContext(With(r.Context(), who)))
	})
}

// check identifies the client, and rejects requests that must not reach a handler.
func (g *Guard) check(r *http.Request) (Identity, error) {
	if g.open == "loopback" && !isLocalHost(r.Host) { // against DNS rebinding: a site that resolves its own name to this host
		return Identity{}, g.refuse("host", problem.New(http.StatusMisdirectedRequest, "host %q: without access configured, want localhost or 127.0.0.1; see http.access", r.Host))
	}
	if err := g.cross.Check(r); err != nil {
		return Identity{}, g.refuse("cross_origin", problem.New(http.StatusForbidden, "the request comes from another site"))
	}
	now := g.now()
	address, client := addressOf(r.RemoteAddr)
	who, err := g.identify(r, address, client, now)
	if who.Role >= Viewer && g.open == "" {
		client = who.By + " " + who.Name
	}
	if who.Role >= Viewer && isOfMachines(r.URL.Path) {
		return who, nil
	}
	if wait, ok := g.requests.take(client, now); !ok {
		p := problem.New(http.StatusTooManyRequests, "more than %v requests per second; retry in %v", g.cfg.Limits.RequestsPerSecond, wait.Round(time.Millisecond))
		p.RetryAfter = wait
		return Identity{}, g.refuse("rate", p)
	}
	if isPublic(r.URL.Path) {
		return who, nil
	}
	if err == nil && who.Role < Viewer {
		err = problem.New(http.StatusUnauthorized, "want a token (Authorization: Bearer ...) or a login session")
	}
	if err != nil {
		return Identity{}, g.refuse("unknown_client", err)
	}
	return who, nil
}

func (g *Guard) refuse(reason string, err error) error {
	g.metrics.refused.WithLabelValues(reason).Inc()
	return err
}

// identify identifies the client; the role is None without credentials, and wrong ones are an error.
func (g *Guard) identify(r *http.Request, address netip.Addr, client string, now time.Time) (Identity, error) {
	if g.open != "" {
		return Identity{Name: g.open, Role: Admin, By: g.open}, nil
	}
	if text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && g.tokens != nil {
		t, ok := g.findToken(text)
		if !ok {
			return Identity{Role: None}, g.wrongToken(client, now)
		}
		return Identity{t.name, t.role, "token"}, nil
	}
	if c, err := r.Cookie(cookieName); err == nil && g.tokens != nil {
		if s, ok := g.sessions.find(c.Value, now); ok && g.stillHas(s.token) {
			return Identity{s.token.name, s.token.role, "session"}, nil
		}
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return Identity{r.TLS.VerifiedChains[0][0].Subject.CommonName, g.cfg.CertificateRole, "certificate"}, nil
	}
	if user := r.Header.Get(g.cfg.Proxies.UserHeader); user != "" && contains(g.proxies, address) {
		return Identity{user, g.cfg.Proxies.roleOf(r.Header.Values(g.cfg.Proxies.GroupsHeader)), "proxy"}, nil
	}
	return Identity{Role: None}, nil
}

// wrongToken counts a wrong token of a client. Too many of them do not lock out the right one, which cannot be guessed:
// a program with an old token must not stop the others on its host.
func (g *Guard) wrongToken(client string, now time.Time) *problem.Problem {
	if _, ok := g.failures.take(client, now); ok {
		return problem.New(http.StatusUnauthorized, "unknown token")
	}
	p := problem.New(http.StatusTooManyRequests, "too many wrong tokens from this address; retry in a minute, or with the right one")
	p.RetryAfter = time.Minute
	return p
}

// findToken looks a token up, reloading the file if it has changed.
func (g *Guard) findToken(text string) (token, bool) {
	if g.tokens == nil {
		return token{}, false
	}
	g.reload()
	return g.tokens.find(strings.TrimSpace(text))
}

func (g *Guard) stillHas(t token) bool {
	g.reload()
	return g.tokens.has(t)
}

func (g *Guard) reload() {
	if err := g.tokens.reload(g.now()); err != nil {
		g.log.Warn("access: tokens file not readable", "error", err)
	}
}

func (g *Guard) isProxy(r *http.Request) bool {
	address, _ := addressOf(r.RemoteAddr)
	return contains(g.proxies, address)
}

func contains(list []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(address) })
}

// roleOf returns the highest role of a user's groups.
func (p *Proxies) roleOf(headers []string) Role {
	role := p.Role
	for group := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		group = strings.TrimSpace(group)
		if slices.Contains(p.Operators, group) {
			role = max(role, Operator)
		}
		if slices.Contains(p.Admins, group) {
			role = max(role, Admin)
		}
	}
	return role
}

// isLocalHost reports whether a Host header is a name of this host that no site can own.
func isLocalHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if host == "" || strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") {
		return true
	}
	return net.ParseIP(host) != nil // an IP address cannot be resolved elsewhere
}

// fail responds with a problem.
func (g *Guard) fail(w http.ResponseWriter, err error) {
	var p *problem.Problem
	if !errors.As(err, &p) {
		p = problem.New(http.StatusInternalServerError, "the request could not be checked")
		g.log.Error("access: request not checked", "error", err)
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="giverny"`)
	}
	p.Write(w)
}

// setHeaders sets the security headers: the page runs only its own scripts, and no other page may frame it.
func setHeaders(header http.Header, secure bool) {
	header.Set("Content-Security-Policy", "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	if secure {
		header.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
