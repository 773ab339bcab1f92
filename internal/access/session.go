package access

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/giverny/giverny/internal/problem"
)

// cookieName of a browser's session.
const cookieName = "giverny_session"

// sessions of browsers that logged in with a token. The cookie holds a random ID, not the token.
type sessions struct {
	mu   sync.Mutex // guards byID
	byID map[string]session
}

type session struct {
	token token
	until time.Time
}

// maxSessions bounds the sessions; beyond it the one that expires first is dropped.
const maxSessions = 10_000

func (s *sessions) begin(t token, now time.Time, length time.Duration) (id string) {
	var b [tokenBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	id = base64.RawURLEncoding.EncodeToString(b[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byID) >= maxSessions {
		s.makeRoom(now)
	}
	s.byID[id] = session{t, now.Add(length)}
	return id
}

// makeRoom drops expired sessions, or else the one that expires first; s.mu is held.
func (s *sessions) makeRoom(now time.Time) {
	first := ""
	for id, one := range s.byID {
		if !now.Before(one.until) {
			delete(s.byID, id)
		} else if first == "" || one.until.Before(s.byID[first].until) {
			first = id
		}
	}
	if len(s.byID) >= maxSessions {
		delete(s.byID, first)
	}
}

func (s *sessions) find(id string, now time.Time) (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.byID[id]
	return one, ok && now.Before(one.until)
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, id)
}

// loginPage works without scripts.
const loginPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Giverny: sign in</title></head>
<body><main><h1>Giverny</h1>
<form method="post" action="login"><p><label for="token">Token</label> <input id="token" name="token" type="password" autocomplete="current-password" required autofocus> <button>Sign in</button></p></form>
</main></body></html>
`

// login answers GET with a form and POST with a session: JSON {"token": ...} with the identity, a form with a redirect.
func (g *Guard) login(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write([]byte(loginPage)) // an error here means that the client disconnected
		return
	case http.MethodPost:
	default:
		problem.Method(r, "GET, HEAD, POST").Write(w)
		return
	}
	text, form, err := readToken(r)
	if err != nil {
		g.fail(w, err)
		return
	}
	now := g.now()
	_, client := addressOf(r.RemoteAddr)
	t, ok := g.findToken(text)
	if !ok {
		p := g.wrongToken(client, now)
		if p.Status == http.StatusUnauthorized { // further ones do not fill the log
			g.log.Warn("access: login refused", "client", client)
		}
		g.metrics.refused.WithLabelValues("login").Inc()
		g.fail(w, p)
		return
	}
	http.SetCookie(w, g.cookie(r, g.sessions.begin(t, now, g.cfg.Session), int(g.cfg.Session.Seconds())))
	g.log.Info("access: logged in", "name", t.name, "role", t.role.String(), "client", client)
	w.Header().Set("Cache-Control", "no-store")
	if form {
		w.Header().Set("Location", "./")
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"name": t.name, "role": t.role.String()}) // see above
}

// readToken reads the token from a login request.
func readToken(r *http.Request) (text string, form bool, err error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/x-www-form-urlencoded":
		err = r.ParseForm()
		text, form = r.PostForm.Get("token"), true
	case "application/json":
		var body struct {
			Token string `json:"token"`
		}
		err = json.NewDecoder(r.Body).Decode(&body)
		text = body.Token
	default:
		return "", false, problem.New(http.StatusUnsupportedMediaType, "content type %q: want application/json or application/x-www-form-urlencoded", kind)
	}
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return "", form, problem.New(http.StatusRequestEntityTooLarge, "body: more than %d bytes", tooLarge.Limit)
	}
	if err != nil || text == "" {
		return "", form, problem.BadRequest("body: want a token")
	}
	return strings.TrimSpace(text), form, nil
}

// logout ends the session.
func (g *Guard) logout(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		problem.Method(r, http.MethodPost).Write(w)
		return
	}
	if c, err := r.Cookie(cookieName); err == nil {
		g.sessions.end(c.Value)
	}
	http.SetCookie(w, g.cookie(r, "", -1))
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

// cookie is inaccessible to scripts and other sites; over TLS it is sent only over TLS.
func (g *Guard) cookie(r *http.Request, value string, seconds int) *http.Cookie {
	return &http.Cookie{Name: cookieName, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || g.isProxy(r) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")}
}
