package store

import (
	"net/http"

	"github.com/giverny/giverny/internal/fence"
)

// fenced makes transports that send no statement whose fence says no: a process that was frozen between the check of
// its lease and a statement would write beside its successor. next, which may be nil, makes those that send.
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
	plain *http.Transport // whose idle connections RoundTripper keeps
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

// CloseIdleConnections is what http.Client calls when it is closed.
func (t *fencedTransport) CloseIdleConnections() { t.plain.CloseIdleConnections() }
