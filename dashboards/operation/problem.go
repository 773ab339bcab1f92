package operation

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Problem is an error that a client sees (RFC 9457).
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

// NewProblem makes a problem of a status.
func NewProblem(status int, format string, args ...any) *Problem {
	return &Problem{Status: status, Title: http.StatusText(status), Detail: fmt.Sprintf(format, args...)}
}

// BadRequest says that a parameter makes no sense, and what would.
func BadRequest(format string, args ...any) error {
	return NewProblem(http.StatusBadRequest, format, args...)
}

// NotFound says that there is no such thing.
func NotFound(format string, args ...any) error {
	return NewProblem(http.StatusNotFound, format, args...)
}

// Fail answers with a problem. Nothing may have been written before.
func Fail(w http.ResponseWriter, r *http.Request, p *Problem) {
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((p.RetryAfter+time.Second-1)/time.Second)))
	}
	if p.Allow != "" {
		w.Header().Set("Allow", p.Allow)
	}
	w.Header().Del("ETag")
	w.Header().Set("Cache-Control", "no-store")
	writeBody(w, r, "application/problem+json", p.Status, p)
}

// notModified is the answer that the client has what there is.
type notModified struct{ tag string }

func (notModified) Error() string { return "not modified" }

// Conditional are the headers by which a client names what it has. Parameters embed it where a tag is known before
// the answer is made.
type Conditional struct {
	IfNoneMatch string `header:"If-None-Match" doc:"The ETag of an earlier answer: 304 where nothing has changed."`
}

// Has reports whether the client has what carries the tag.
func (c *Conditional) Has(tag string) bool { return Matches(c.IfNoneMatch, tag) }

// NotModified is the error with which a handler says that the client has what it would get.
func NotModified(tag string) error { return notModified{tag} }

// asNotModified finds it in an error.
func asNotModified(err error) (string, bool) {
	var n notModified
	ok := errors.As(err, &n)
	return n.tag, ok
}
