// Package problem is the errors that HTTP clients see, as problem+json (RFC 9457): a status, its meaning, and a
// detail that says what is expected.
package problem

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// contentType of a problem.
const contentType = "application/problem+json"

// Problem is the body of an error response.
type Problem struct {
	Status int    `json:"status"` // of HTTP
	Title  string `json:"title"`  // what the status means
	Detail string `json:"detail"` // what is wrong, and what is expected

	// RetryAfter is sent as a header. 0: unknown.
	RetryAfter time.Duration `json:"-"`
	// Allow lists the methods of a path; it is sent as a header.
	Allow string `json:"-"`
}

func (p *Problem) Error() string { return p.Detail }

// New returns a problem with a status.
func New(status int, format string, args ...any) *Problem {
	return &Problem{Status: status, Title: http.StatusText(status), Detail: fmt.Sprintf(format, args...)}
}

// BadRequest reports an invalid parameter, and what is expected.
func BadRequest(format string, args ...any) error {
	return New(http.StatusBadRequest, format, args...)
}

// NotFound reports a missing resource.
func NotFound(format string, args ...any) error {
	return New(http.StatusNotFound, format, args...)
}

// Method reports that a path does not support a method.
func Method(r *http.Request, allow string) *Problem {
	p := New(http.StatusMethodNotAllowed, "%s: want %s", r.Method, allow)
	p.Allow = allow
	return p
}

// Write responds with a problem. Nothing may have been written before.
func (p *Problem) Write(w http.ResponseWriter) {
	text, err := json.Marshal(p)
	if err != nil {
		panic("problem: " + err.Error()) // cannot fail: two strings and a number
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
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(text, '\n')) // an error here means that the client disconnected
}
