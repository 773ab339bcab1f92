package dashboards

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/store/read"
)

// problem is an error that a client sees (RFC 9457). Every other error is the
// store's, of which the client learns only that it is there.
type problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

func (p *problem) Error() string { return p.Detail }

// badRequest says that a parameter makes no sense, and what would.
func badRequest(format string, args ...any) error {
	return &problem{Status: http.StatusBadRequest, Detail: fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) error {
	return &problem{Status: http.StatusNotFound, Detail: fmt.Sprintf(format, args...)}
}

// problemOf is what a client is to see of an error.
func problemOf(err error) *problem {
	p := &problem{Status: http.StatusBadGateway, Detail: "the store did not answer; try again, or see the log of this process"}
	if errors.Is(err, read.ErrTooExpensive) {
		p = &problem{Status: http.StatusServiceUnavailable, Detail: read.ErrTooExpensive.Error()}
	}
	errors.As(err, &p)
	p.Title = http.StatusText(p.Status)
	return p
}

// clientLeft is the status under which a request is counted whose client did not
// wait for the answer.
const clientLeft = 499

// jsonHandler turns a handler's value into JSON, compressed where the client takes
// it, and its error into a problem. No value is no content.
func (d *Dashboards) jsonHandler(endpoint string, h func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		value, err := h(r)
		status := http.StatusOK
		switch {
		case err != nil && r.Context().Err() != nil:
			status = clientLeft
		case err != nil:
			p := problemOf(err)
			status = p.Status
			if status >= http.StatusInternalServerError {
				d.log.Warn("dashboards: request failed", "endpoint", endpoint, "error", err)
			}
			writeJSON(w, r, "application/problem+json", status, p)
		case value == notModified{}:
			status = http.StatusNotModified
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(status)
		case value == nil:
			status = http.StatusNoContent
			w.WriteHeader(status)
		default:
			writeJSON(w, r, "application/json", status, value)
		}
		d.metrics.requests.WithLabelValues(endpoint, strconv.Itoa(status)).Inc()
		d.metrics.seconds.WithLabelValues(endpoint).Observe(time.Since(began).Seconds())
	}
}

func writeJSON(w http.ResponseWriter, r *http.Request, contentType string, status int, value any) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Vary", "Accept-Encoding")
	var out io.Writer = w
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		defer z.Close()
		out = z
	}
	w.WriteHeader(status)
	json.NewEncoder(out).Encode(value) // an error here means that the client left
}

// secure sets the headers that keep a browser from doing with an answer what it is
// not for: the page runs its own scripts alone, and in no other page's frame.
func secure(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "no-referrer")
		h.ServeHTTP(w, r)
	})
}
