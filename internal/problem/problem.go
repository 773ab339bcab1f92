// Package problem is the errors that HTTP clients see, as problem+json (RFC 9457): a status, what it means, and a
// detail that says what would be right.
package problem

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// ContentType of a problem.
const ContentType = "application/problem+json"

// Problem is an error that a client sees.
type Problem struct {
	Status int    `json:"status"` // of HTTP
	Title  string `json:"title"`  // what the status means
	Detail string `json:"detail"` // what is wrong, and what would be right

	// RetryAfter is when to ask again; it is a header. 0 is not known.
	RetryAfter time.Duration `json:"-"`
	// Allow are the methods that a path has; it is a header.
	Allow string `json:"-"`
}

func (p *Problem) Error() string { return p.Detail }

// New makes a problem of a status.
func New(status int, format string, args ...any) *Problem {
	return &Problem{Status: status, Title: http.StatusText(status), Detail: fmt.Sprintf(format, args...)}
}

// BadRequest says that a parameter makes no sense, and what would.
func BadRequest(format string, args ...any) error {
	return New(http.StatusBadRequest, format, args...)
}

// NotFound says that there is no such thing.
func NotFound(format string, args ...any) error {
	return New(http.StatusNotFound, format, args...)
}

// Method says that a path has no such method.
func Method(r *http.Request, allow string) *Problem {
	p := New(http.StatusMethodNotAllowed, "%s: want %s", r.Method, allow)
	p.Allow = allow
	return p
}

// Write answers with a problem. Nothing may have been written before.
func (p *Problem) Write(w http.ResponseWriter) {
	text, err := json.Marshal(p)
	if err != nil {
		panic("problem: " + err.Error()) // two texts and a number
	}
	header := w.Header()
	if p.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int((p.RetryAfter+time.Second-1)/time.Second)))
	}
	if p.Allow != "" {
		header.Set("Allow", p.Allow)
	}
	header.Del("ETag")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", ContentType)
	header.Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(text, '\n')) // an error here means that the client left
}
