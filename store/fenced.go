package store

import (
	"net/http"

	"github.com/giverny/giverny/internal/fence"
)

// fenced wraps transports so that they send no statement once the context's fence (see internal/fence) rejects it: a
// process that was frozen between checking its lease and sending would write alongside its successor. next, which
// may be nil, makes the transports that send.
func fenced(next func(*http.Transport) (http.RoundTripper, error)) func(*http.Transport) (http.RoundTripper, error) {
	return func(plain *http.Transport) (http.RoundTripper, error) {
		if next == nil {
			return &fencedTransport{plain, plain}, nil
		}
		sends, err := next(plain)
		return &fencedTransport{sends, plain}, err
	}
}

type fencedTransport struct {
	http.RoundTripper
	plain *http.Transport // owns the idle connections of RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *fencedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := fence.Check(r.Context()); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	return t.RoundTripper.RoundTrip(r)
}

// CloseIdleConnections is called by http.Client.CloseIdleConnections.
func (t *fencedTransport) CloseIdleConnections() { t.plain.CloseIdleConnections() }
