package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// SameHost is a CheckRedirect for clients whose requests carry a secret in a custom header,
// which the standard library would forward to any host in a redirect.
func SameHost(to *http.Request, via []*http.Request) error {
	const most = 10 // as in the standard library
	if len(via) >= most {
		return errors.New("too many redirects")
	}
	if to.URL.Hostname() != via[0].URL.Hostname() {
		return fmt.Errorf("redirected to another host, %s, to which no secret is sent", to.URL.Hostname())
	}
	return nil
}

// NoRedirect is a CheckRedirect for clients that change something: followed, a redirect may make a POST a GET, which succeeds
// and changes nothing, and a body is for its receiver only.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// NewRequest creates a request to an address that may contain a secret: its error does not print it.
func NewRequest(ctx context.Context, method, address string, body io.Reader) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, errors.New("the address is not a URL")
	}
	return request, nil
}

// Do sends a request: its error does not print the address, which may contain a secret.
func Do(client *http.Client, request *http.Request) (*http.Response, error) {
	response, err := client.Do(request)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	return response, err
}
